"""The budget is kept, in time and in trials."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.engine.base import Limits
from autotune.engine.tasks.train import LearningRequest
from autotune.errors import NothingMeasured
from autotune.options import PROFILE_SHARE, SearchOptions
from autotune.reason import BudgetEnded, Outcome, Phase
from autotune.result import Verdict
from autotune.search.stopping import PATIENCE, Budget
from autotune.stats.gradients import Learning
from autotune.testing import FakeEngine
from autotune.testing.fake import FAKE_FACTS, Ending, fake_learning
from autotune.trial import Stage

from .conftest import Tuner, speed


@pytest.mark.parametrize("seconds", [20.0, 60.0, 180.0])
def test_the_time_is_kept(tuner: Tuner, seconds: float) -> None:
    """A search ends within its time, or one trial later."""
    assert tuner(speed(), options={"budget": seconds}).seconds <= seconds + 5


def test_a_first_step_that_takes_the_whole_budget_is_delivered(tuner: Tuner) -> None:
    """It is measured to its end, because nothing else would be told."""
    result = tuner(speed(), engine=FakeEngine(speed(), start=30.0), options={"budget": 10.0})
    assert [each.outcome for each in result.trials] == [Outcome.MEASURED]
    assert result.config == Configuration()
    assert result.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("phase", [Phase.START, Phase.FIRST_STEP, Phase.STEADY])
def test_a_budget_that_holds_no_trial_is_told_with_a_number(tuner: Tuner, phase: Phase) -> None:
    """The configuration is not blamed; what it took is named, and a budget."""
    ended = BudgetEnded(phase=phase, seconds=44)
    late = Ending(outcome=Outcome.UNFINISHED, reason=ended)
    with pytest.raises(NothingMeasured, match="had taken 44 s by then") as error:
        tuner(speed(), engine=FakeEngine(lambda _: late, start=60.0), options={"budget": 50.0})
    assert "a budget of 2min or more (--budget)" in str(error.value)


@pytest.mark.parametrize("budget", [600.0, 60.0])
def test_the_first_trial_may_take_all_that_is_left(tuner: Tuner, budget: float) -> None:
    """A limit that is shorter than the budget would end the search with nothing."""
    engine = FakeEngine(speed(), tracing=70.0)
    tuner(speed(), engine=engine, options={"budget": budget})
    limits = engine.requests[0].limits
    assert min(limits.start, limits.first_step, limits.window) >= budget


@pytest.mark.parametrize("tracing", [70.0, 200.0])
def test_limits_grow_with_the_first_step_that_was_seen(tuner: Tuner, tracing: float) -> None:
    """Later trials trace as long, and several replicas longer."""
    engine = FakeEngine(speed(), tracing=tracing)
    tuner(speed(), engine=engine, options={"budget": None, "max_trials": 3})
    usual = Limits().first_step
    later = [each.limits.first_step for each in engine.requests[1:]]
    assert min(later) >= usual + tracing


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_the_own_configuration_is_measured_before_anything_else(tuner: Tuner, share: float) -> None:
    """Even before the look at how the model learns, which fits only what is left."""
    engine = FakeEngine(speed(), tracing=share * 100, learning=fake_learning(1.0))
    ran_before_look: list[int] = []
    look = engine.learn

    def learn(request: LearningRequest) -> Learning:
        ran_before_look.append(len(engine.requests))
        return look(request)

    engine.learn = learn  # type: ignore[method-assign]
    options = {"objective": "time_to_loss", "budget": 400.0 * share}
    result = tuner(speed(), engine=engine, options=options)
    assert engine.requests[0].configuration == Configuration()
    assert ran_before_look in ([], [1])
    assert result.config.global_batch == 32


def test_what_was_measured_is_delivered_if_the_look_is_interrupted(tuner: Tuner) -> None:
    """By Ctrl-C, or by the service whose patience is over."""
    engine = FakeEngine(speed(), learning=fake_learning(1.0))

    def learn(request: LearningRequest) -> Learning:
        engine.inspections.append(request)
        raise KeyboardInterrupt

    engine.learn = learn  # type: ignore[method-assign]
    result = tuner(speed(), engine=engine, options={"objective": "time_to_loss", "budget": 90.0})
    assert result.interrupted
    assert result.config == Configuration()


def test_a_profile_that_is_interrupted_leaves_the_verdict(
    tuner: Tuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the last seconds loses nothing that was decided."""

    def run(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("autotune.search.tune.Profiler.run", run)
    result = tuner(speed(distributed=0.5), options={"budget": 180.0})
    assert result.verdict is Verdict.ONE_DEVICE
    assert result.diagnosis is None
    assert not result.interrupted


def test_what_the_budget_cut_off_is_tried_again(tuner: Tuner) -> None:
    """A resumed search has time for it."""
    late = Ending(outcome=Outcome.UNFINISHED, reason=BudgetEnded())
    with pytest.raises(NothingMeasured):
        tuner(speed(), engine=FakeEngine(lambda _: late), options={"budget": 50.0}, study="one")
    result = tuner(speed(), options={"budget": 50.0}, study="one", resume=True)
    own = [each.outcome for each in result.trials if each.configuration == Configuration()]
    assert own[0] is Outcome.UNFINISHED
    assert Outcome.MEASURED in own


@pytest.mark.parametrize("most", [1, 5, 9])
def test_the_number_of_trials_is_kept(tuner: Tuner, most: int) -> None:
    """Whatever they are made for."""
    result = tuner(speed(), options={"budget": None, "max_trials": most})
    assert len(result.trials) <= most


@pytest.mark.parametrize("budget", [12.0, 14.0, 16.0, 18.0])
def test_the_largest_step_comes_before_any_other_strategy(tuner: Tuner, budget: float) -> None:
    """However short the time is: it tells most of one device, and of nothing else after it."""
    trials = tuner(
        speed(), engine=FakeEngine(speed(), start=4.0), options={"budget": budget}
    ).trials
    assert len(trials) > 1
    assert trials[1].configuration == Configuration(per_replica_batch=128, steps_per_execution=8)


def test_repeats_run_no_longer_than_other_trials_for_precision(tuner: Tuner) -> None:
    """More runs tell more than longer ones, however much the steps of a run scatter."""
    engine = FakeEngine(speed(), within=0.4)
    trials = tuner(speed(), engine=engine, options={"budget": 60.0}).trials
    repeats = [trial for trial in trials if trial.stage is Stage.REPEAT and trial.measured]
    assert repeats
    steady = [trial.windows[trial.steady_from :] for trial in repeats]
    assert max(sum(w.seconds for w in each) for each in steady) < PATIENCE + 1


@pytest.mark.parametrize(("start", "budget"), [(4.0, 30.0), (5.0, 35.0), (6.0, 45.0)])
def test_what_cannot_win_leaves_one_device(tuner: Tuner, start: float, budget: float) -> None:
    """All replicas would wait for one input, which a look at the step without it shows."""
    facts = FAKE_FACTS.model_copy(update={"python_input": True})
    engine = FakeEngine(speed(), held=lambda _: 1e9, start=start, facts=facts)
    result = tuner(speed(), engine=engine, options={"budget": budget})
    assert not any(t.configuration.distributed and t.wall_seconds for t in result.trials)
    assert result.verdict is Verdict.ONE_DEVICE
    assert result.examples_per_second is not None


def test_a_small_space_ends_before_its_budget(tuner: Tuner) -> None:
    """When everything was tried and decided, the rest of the time is not used."""
    assert tuner(speed(distributed=0.3), options={"budget": 3600.0}).seconds < 600


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
    result = tuner(speed(distributed=distributed), noise=0.1, options={"budget": 60.0})
    trials = sum(trial.wall_seconds for trial in result.trials)
    assert (trials > (1 - PROFILE_SHARE) * 60.0) is takes
