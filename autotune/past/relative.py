"""What past searches say of configurations, each search measured by its own baseline."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from autotune.config import Configuration
from autotune.past.session import Measured


def relative(measurements: Iterable[Measured]) -> dict[Configuration, float]:
    """Return log(rate) of each configuration relative to its session's best single device.

    The mean over its runs in a session, and over sessions. A session without a measured single
    device says nothing, because its machine may have been faster or slower than at other times.
    """
    found: dict[Configuration, list[float]] = defaultdict(list)
    for session in _sessions(measurements):
        for configuration, gap in _gaps(session).items():
            found[configuration].append(gap)
    return {configuration: fmean(gaps) for configuration, gaps in found.items()}


def _sessions(measurements: Iterable[Measured]) -> list[list[Measured]]:
    sessions: dict[str, list[Measured]] = defaultdict(list)
    for each in measurements:
        sessions[each.session].append(each)
    return list(sessions.values())


def _gaps(session: Sequence[Measured]) -> Mapping[Configuration, float]:
    logs: dict[Configuration, list[float]] = defaultdict(list)
    for each in (one for one in session if not one.pruned):
        # What was stopped early had not shown all that it could.
        logs[each.configuration].append(math.log(each.examples_per_second))
    means = {configuration: fmean(group) for configuration, group in logs.items()}
    alone = {
        each.configuration
        for each in session
        if not each.configuration.distributed and not each.pruned
    }
    best = max((means[configuration] for configuration in alone), default=None)
    if best is None:
        return {}
    return {configuration: mean - best for configuration, mean in means.items()}
