"""What the exploring runs have shown of each configuration."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

from autotune.config import Configuration
from autotune.run.engine import Outcome
from autotune.search.history import History
from autotune.trial import Stage, Trial

EXPLORED = "During exploration, "
"""How a sentence begins that tells what the table of configurations shows too."""

ROUGH = 0.15
"""Standard error of log(rate) of a run that was stopped before it was measured."""
WORSE = math.log(2.0)
"""A configuration that failed counts as half as fast as the slowest, so that its neighbours are
looked at last."""


SHOWN = (Outcome.MEASURED, Outcome.PRUNED, Outcome.UNSTABLE)
"""Outcomes with a speed; what broke down later had one too, and is no use."""


class Seen(NamedTuple):
    """A throughput, with how well it is known."""

    log_rate: float
    """Natural logarithm of examples per second."""
    sd: float
    """Its standard error, the noise between runs included."""


def seen(history: History) -> dict[Configuration, Seen]:
    """Return the throughput of everything that ran long enough to show one."""
    runs: dict[Configuration, list[Trial]] = defaultdict(list)
    for trial in _exploring(history):
        if trial.outcome in SHOWN and trial.examples_per_second:
            runs[trial.configuration].append(trial)
    return {c: _together(trials, history.noise.sd) for c, trials in runs.items()}


def with_failures(
    shown: Mapping[Configuration, Seen], history: History
) -> dict[Configuration, Seen]:
    """Return what was shown, and for what failed something worse than all of it."""
    if not shown:
        return {}
    worst = Seen(min(each.log_rate for each in shown.values()) - WORSE, ROUGH)
    ran = (t.configuration for t in _exploring(history) if t.outcome is not Outcome.SKIPPED)
    return {**dict.fromkeys(ran, worst), **shown}


def _exploring(history: History) -> Iterator[Trial]:
    return (trial for trial in history.trials if trial.stage is not Stage.FINAL)


def _together(trials: list[Trial], noise: float) -> Seen:
    """Join the runs of a configuration; the measured ones alone, where there are any."""
    measured = [trial for trial in trials if trial.measured]
    rates = [t.examples_per_second for t in measured or trials if t.examples_per_second]
    error = noise / math.sqrt(len(rates))
    return Seen(fmean(map(math.log, rates)), error if measured else math.hypot(error, ROUGH))
