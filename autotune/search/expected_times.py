"""What the card promises: how long trials take, and which budget allows a verdict."""

from __future__ import annotations

from collections.abc import Callable

from autotune.config import Configuration
from autotune.events import Event, Notice, Observer, TrialEnded
from autotune.options import PROFILE_SECONDS, PROFILE_SHARE, SearchOptions
from autotune.plan import Plan, times_in_words
from autotune.search.certification import REFERENCE_RUNS
from autotune.search.costs import Costs
from autotune.search.design import one_of_each_strategy, own_default
from autotune.space import Candidates
from autotune.trial import Trial

FEW_ROUNDS, MANY_ROUNDS = 6, 12
"""Rounds of the best on one device and on several that usually answer: where the gain is large, and
where it is 10 % and the noise is 5 %."""
OFF = 1.25
"""A promise that is wrong by more than this factor is corrected aloud."""


def with_times(
    plan: Plan, candidates: Candidates, costs: Costs, prepared: float, options: SearchOptions
) -> Plan:
    """Return a plan with what its trials are expected to take.

    Args:
        plan: The plan.
        candidates: The configurations that can run.
        costs: What a trial of each takes.
        prepared: Seconds that pass before the first one.
        options: Say whether the recommendation will be profiled.
    """
    default = own_default(candidates.one_device, plan.facts, options)
    challengers = one_of_each_strategy(default, candidates.distributed)
    enough, most = (
        prepared + with_profile(_seconds_to_verdict(default, challengers, costs, rounds), options)
        if challengers
        else None
        for rounds in (FEW_ROUNDS, MANY_ROUNDS)
    )
    every = [costs.seconds(each) for each in candidates.configurations]
    return plan.model_copy(
        update={
            "exhaustive_seconds": sum(every),
            "trial_seconds": costs.seconds(default),
            "longest_seconds": max(every),
            "tracing_seconds": costs.first_call(default),
            "enough_seconds": enough,
            "most_seconds": most,
        }
    )


def _seconds_to_verdict(
    default: Configuration, challengers: list[Configuration], costs: Costs, rounds: int
) -> float:
    """Return what it takes to try every strategy once and to compare the best in turns.

    Beside each challenger one device runs once more, at the challenger's global batch.
    """
    one, challenger = costs.seconds(default), max(map(costs.seconds, challengers))
    explored = one + sum(costs.seconds(each) + one for each in challengers)
    return explored + rounds * (one + challenger) + challenger + REFERENCE_RUNS * one


def with_profile(seconds: float, options: SearchOptions) -> float:
    """Return the budget of which the profile leaves so many seconds."""
    if not options.diagnose:
        return seconds
    return min(seconds / (1 - PROFILE_SHARE), seconds + PROFILE_SECONDS)


class Correction:
    """Corrects the promise once, after the first trial that has shown a speed.

    Args:
        plan: What was promised.
        again: Returns the plan as the trial lets expect it.
        observer: Is given every event, and the correction where it matters.
    """

    def __init__(self, plan: Plan, again: Callable[[Trial], Plan], observer: Observer) -> None:
        self._plan = plan
        self._again = again
        self._observer = observer
        self._done = False

    def __call__(self, event: Event) -> None:
        """Pass an event on, and what follows from it."""
        self._observer(event)
        if self._done or not isinstance(event, TrialEnded) or not event.trial.examples_per_second:
            return
        self._done = True
        corrected = self._again(event.trial)
        if _differs(self._plan, corrected):
            self._observer(Notice(text=f"After the first trial: {times_in_words(corrected)}"))


def _differs(before: Plan, now: Plan) -> bool:
    ratio = now.exhaustive_seconds / before.exhaustive_seconds
    return now.too_short != before.too_short or not 1 / OFF <= ratio <= OFF
