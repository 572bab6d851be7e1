"""What is timed so that bounds can rest on it: exchanges of gradients, and a step without input."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.checks.remedies import undivided
from autotune.config import Configuration
from autotune.search.allreduce import LEAST_BYTES, MANY, families
from autotune.search.bounds import Bounds
from autotune.search.runner import Runner
from autotune.search.stopping import Budget

ALLREDUCE_SHARE = 0.15
"""Of the time that is left, what timing the exchanges may take in all."""
INPUT_SHARE = 0.5
"""Of the time that is left, what timing the step without input may take."""


def time_exchanges(
    runner: Runner, budget: Budget, several: Sequence[Configuration], bounds: Bounds
) -> None:
    """Time the exchange of every family that is large enough to repay it, while time lasts."""
    if runner.subject.facts.dense_gradient_bytes < LEAST_BYTES:
        return
    most, began = ALLREDUCE_SHARE * budget.left, budget.elapsed
    for each in families(several, least=MANY):
        if budget.elapsed - began + runner.history.costs.seconds(each) > most:
            return
        seconds = runner.allreduce_seconds(each)
        if seconds is not None:
            bounds.note_allreduce(each, seconds)


def time_without_input(
    runner: Runner, budget: Budget, several: Sequence[Configuration], bounds: Bounds
) -> None:
    """Time the baseline without its input, where that may tell what workers gain."""
    facts, baseline = runner.subject.facts, runner.history.baseline
    # Python code is what makes an input slow without doubt; elsewhere the timing may be in vain.
    if baseline is None or not facts.python_input:
        return
    if not any(undivided(each, facts) for each in several):
        return
    if runner.history.costs.seconds(baseline) <= INPUT_SHARE * budget.left:
        found = runner.step_time(baseline, held=True)
        if found is not None:
            bounds.note_without_input(baseline, found.seconds)
