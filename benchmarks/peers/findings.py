"""From the logs of one workload to the figures of its table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import truth
from contestants import CONTESTANTS
from job import read_log
from progress import Incumbents, incumbents, trials

from autotune.config import Configuration
from autotune.measure import Interval, Noise, paired_ratio, pooled_noise
from autotune.value import Value

CLOSE = 0.95
"""Share of the best that counts as having found it."""
SURE = Interval(low=1.0, value=1.0, high=1.0)


class Finding(Value):
    """How a contestant did."""

    name: str
    trials: int
    recommended: Configuration | None
    seconds_to_close: float | None
    """From when on its incumbent was within `CLOSE` of the best for good; None: never."""
    share: Interval | None
    """Throughput of what it recommends, as a share of the best."""
    over_one_device: Interval | None
    """The same as a multiple of the best single device."""


class Standing(Value):
    """What the workload's truth says, and how each contestant did."""

    best: Configuration | None
    """The fastest of all that was measured."""
    one_device: Configuration | None
    """The fastest on one device."""
    gain: Interval | None
    """The best distributed configuration as a multiple of the best single device."""
    arms: int
    findings: tuple[Finding, ...]


class Truth:
    """Compares configurations by the runs that took turns."""

    def __init__(self, rates: truth.Rates) -> None:
        turns = max((len(each) for each in rates.values()), default=0)
        # What failed in half of its runs is no recommendation to measure others by.
        self._rates = {c: each for c, each in rates.items() if 2 * len(each) > turns}
        self._noise: Noise = pooled_noise(
            [math.log(rate) for rate in each.values()] for each in self._rates.values()
        )

    def best(self, *, distributed: bool | None = None) -> Configuration | None:
        """Return the fastest, of all or of one kind."""
        mine = [c for c in self._rates if distributed in (None, c.distributed)]
        return max(mine, key=self._level, default=None)

    def ratio(self, mine: Configuration | None, other: Configuration | None) -> Interval | None:
        """Return how many times faster one is than another; None where it is not known."""
        if mine not in self._rates or other not in self._rates:
            return None
        if mine == other:
            return SURE
        turns = sorted(self._rates[mine].keys() & self._rates[other].keys())
        if len(turns) < 2:
            return None
        pairs = [[self._rates[each][turn] for turn in turns] for each in (mine, other)]
        return paired_ratio(*pairs, self._noise)

    def _level(self, configuration: Configuration) -> float:
        return fmean(math.log(rate) for rate in self._rates[configuration].values())


def standing(folder: Path, names: Sequence[str] = tuple(CONTESTANTS)) -> Standing:
    """Return the figures of one workload.

    Args:
        folder: Of the workload.
        names: The contestants that took part.
    """
    rates = truth.read(folder)
    known = Truth(rates)
    one_device, distributed = known.best(distributed=False), known.best(distributed=True)
    return Standing(
        best=known.best(),
        one_device=one_device,
        gain=known.ratio(distributed, one_device),
        arms=len(rates),
        findings=tuple(_finding(folder / name, known) for name in names),
    )


def _finding(folder: Path, known: Truth) -> Finding:
    log = read_log(folder)
    found = incumbents(log)
    recommended = found[-1][1] if found else None
    return Finding(
        name=folder.name,
        trials=trials(log),
        recommended=recommended,
        seconds_to_close=_seconds_to_close(found, known),
        share=known.ratio(recommended, known.best()),
        over_one_device=known.ratio(recommended, known.best(distributed=False)),
    )


def _seconds_to_close(found: Incumbents, known: Truth) -> float | None:
    since: float | None = None
    for seconds, configuration in found:
        share = known.ratio(configuration, known.best())
        if share is None or share.value < CLOSE:
            since = None
        elif since is None:
            since = seconds
    return since


def by_name(findings: Sequence[Finding]) -> Mapping[str, Finding]:
    """Return the findings by contestant."""
    return {each.name: each for each in findings}
