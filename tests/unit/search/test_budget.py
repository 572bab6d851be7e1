"""The budget is kept, in time and in trials."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.errors import NothingMeasured, UsageError
from autotune.options import PROFILE_SHARE, SearchOptions
from autotune.result import Verdict
from autotune.search.stopping import PATIENCE, Budget
from autotune.testing import FakeEngine
from autotune.testing.fake import FAKE_FACTS
from autotune.trial import Outcome, Stage

from .conftest import Tuner, speed


@pytest.mark.parametrize("seconds", [20.0, 60.0, 180.0])
def test_the_time_is_kept(tuner: Tuner, seconds: float) -> None:
    """A search ends within its time, or one trial later."""
    assert tuner(speed(), options={"budget": seconds}).seconds <= seconds + 5


def test_a_budget_that_is_too_small_is_named_as_the_cause(tuner: Tuner) -> None:
    """The configuration is not blamed when there was no time to measure it."""
    with pytest.raises(NothingMeasured, match="budget ran out") as error:
        tuner(speed(), engine=FakeEngine(speed(), start=30.0), options={"budget": 10.0})
    assert "Increase the budget" in str(error.value)


@pytest.mark.parametrize("most", [1, 5, 9])
def test_the_number_of_trials_is_kept(tuner: Tuner, most: int) -> None:
    """Trials before the finals are bounded; the finals come on top."""
    result = tuner(speed(), options={"budget": None, "max_trials": most})
    assert len([t for t in result.trials if t.stage is not Stage.FINAL]) <= most


def test_a_search_needs_an_end(tuner: Tuner) -> None:
    """Neither time nor trials is an error."""
    with pytest.raises(UsageError, match="needs a limit"):
        tuner(speed(), options={"budget": None})


def test_a_budget_too_small_for_finals_goes_to_exploring(tuner: Tuner) -> None:
    """Where three rounds would not fit, no time is kept for one or two that decide nothing."""
    trials = tuner(speed(), options={"budget": 30.0}).trials
    explored = {t.configuration for t in trials if t.stage is not Stage.FINAL}
    assert len(explored) >= 6


@pytest.mark.parametrize("budget", [12.0, 14.0, 16.0, 18.0])
def test_the_largest_step_comes_before_any_other_strategy(tuner: Tuner, budget: float) -> None:
    """However short the time is: it tells most of one device, and of nothing else after it."""
    trials = tuner(
        speed(), engine=FakeEngine(speed(), start=4.0), options={"budget": budget}
    ).trials
    assert len(trials) > 1
    assert trials[1].configuration == Configuration(per_replica_batch=128, steps_per_execution=8)


def test_finals_run_no_longer_than_other_trials_for_precision(tuner: Tuner) -> None:
    """More runs tell more than longer ones, however much the steps of a run scatter."""
    engine = FakeEngine(speed(), within=0.4)
    finals = [
        trial
        for trial in tuner(speed(), engine=engine, options={"budget": 180.0}).trials
        if trial.stage is Stage.FINAL and trial.measured
    ]
    assert finals
    assert max(sum(w.seconds for w in trial.windows) for trial in finals) < PATIENCE + 2


@pytest.mark.parametrize("start", [4.0, 6.0, 8.0])
def test_a_budget_too_small_for_finals_holds_a_promise(tuner: Tuner, start: float) -> None:
    """Who is recommended runs once more: what made it the best of many is too good."""
    engine = FakeEngine(speed(), start=start)
    result = tuner(speed(), engine=engine, options={"budget": 60.0})
    runs = [t for t in result.trials if t.stage is Stage.FINAL]
    assert result.config in {trial.configuration for trial in runs}
    assert result.examples_per_second is not None


@pytest.mark.parametrize(("start", "budget"), [(4.0, 30.0), (5.0, 35.0), (6.0, 45.0)])
def test_time_is_kept_for_a_promise_where_nothing_can_challenge(
    tuner: Tuner, start: float, budget: float
) -> None:
    """All replicas would wait for one input: one device runs once more, as in other finals."""
    facts = FAKE_FACTS.model_copy(update={"python_input": True})
    engine = FakeEngine(speed(), held=lambda _: 1e9, start=start, facts=facts)
    result = tuner(speed(), engine=engine, options={"budget": budget})
    tried = [t for t in result.trials if t.configuration.distributed]
    assert {trial.outcome for trial in tried} == {Outcome.SKIPPED}
    assert result.verdict is Verdict.ONE_DEVICE
    assert result.examples_per_second is not None


def test_a_small_space_ends_before_its_budget(tuner: Tuner) -> None:
    """When everything was tried and decided, the rest of the time is not used."""
    assert tuner(speed(distributed=0.3), options={"budget": 3600.0}).seconds < 600


def test_no_configuration_is_explored_twice(tuner: Tuner) -> None:
    """Only the finals measure again."""
    trials = tuner(speed(), options={"budget": 600.0}).trials
    explored = [t.configuration for t in trials if t.stage is not Stage.FINAL]
    assert len(explored) == len(set(explored))


def test_what_is_kept_for_others_can_be_taken_once() -> None:
    """From then on it is the search's, whatever the others would need."""
    budget = Budget(SearchOptions(budget=100.0), lambda: 60.0, 50.0, lambda: 15.0)
    assert budget.left == 75.0
    assert budget.take_held()
    assert budget.left == 90.0
    assert not budget.take_held()


@pytest.mark.parametrize(("distributed", "takes"), [(1.04, True), (0.8, False)])
def test_an_open_verdict_takes_what_is_kept_for_the_profile(
    tuner: Tuner, *, distributed: float, takes: bool
) -> None:
    """While somebody leads; where nobody does, there is nothing to find out with it."""
    result = tuner(speed(distributed=distributed), noise=0.04, options={"budget": 100.0})
    trials = sum(trial.wall_seconds for trial in result.trials)
    assert (trials > (1 - PROFILE_SHARE) * 100.0) is takes
