"""The budget is kept, in time and in trials."""

from unittest.mock import Mock

import pytest

from autotune.config import Configuration
from autotune.engine.base import Limits, Stop
from autotune.errors import NothingMeasured
from autotune.reason import BudgetEnded, Outcome, Phase
from autotune.result import Verdict
from tests.engines.fake import FakeEngine, fake_learning

from .conftest import Tuner, speed


@pytest.mark.parametrize("seconds", [20.0, 180.0])
def test_the_time_is_kept(tuner: Tuner, seconds: float) -> None:
    assert tuner(speed(), options={"budget": seconds}).seconds <= seconds + 5


def test_a_first_step_that_takes_the_whole_budget_is_delivered(tuner: Tuner) -> None:
    result = tuner(speed(), engine=FakeEngine(speed(), start=30.0), options={"budget": 10.0})
    assert [each.outcome for each in result.trials] == [Outcome.MEASURED]
    assert result.config == Configuration()
    assert result.verdict is Verdict.UNDECIDED


def test_a_training_that_is_over_before_a_trial_is_not_searched_for(tuner: Tuner) -> None:
    """Its own settings are handed over; nothing is said of ratios that there are none of."""
    result = tuner(speed(), options={"train_for": "2s"})
    assert not result.trials
    assert result.config == result.answer.own
    text = str(result)
    assert "your own settings, after 0 s of search" in text
    assert "atio" not in text


@pytest.mark.parametrize("phase", [Phase.START, Phase.FIRST_STEP, Phase.STEADY])
def test_a_budget_that_holds_no_trial_is_told_with_a_number(tuner: Tuner, phase: Phase) -> None:
    ended = BudgetEnded(phase=phase, seconds=44)
    late = Stop(outcome=Outcome.UNFINISHED, reason=ended)
    with pytest.raises(NothingMeasured, match="had taken 44 s by then") as error:
        tuner(speed(), engine=FakeEngine(lambda _: late, start=60.0), options={"budget": 50.0})
    assert "a budget of 2min or more" in str(error.value)


@pytest.mark.parametrize("budget", [600.0, 60.0])
def test_the_first_trial_may_take_all_that_is_left(tuner: Tuner, budget: float) -> None:
    engine = FakeEngine(speed(), tracing=70.0)
    tuner(speed(), engine=engine, options={"budget": budget})
    limits = engine.requests[0].limits
    assert min(limits.start, limits.first_step, limits.window) >= budget


def test_limits_grow_with_the_first_step_that_was_seen(tuner: Tuner) -> None:
    engine = FakeEngine(speed(), tracing=200.0)
    tuner(speed(), engine=engine, options={"budget": None, "max_trials": 3})
    later = [each.limits.first_step for each in engine.requests[1:]]
    assert min(later) >= Limits().first_step + 200.0


def test_what_was_measured_is_delivered_if_the_look_is_interrupted(tuner: Tuner) -> None:
    engine = FakeEngine(speed(), learning=fake_learning(1.0))
    engine.learn = Mock(side_effect=KeyboardInterrupt)
    options = {"objective": "time_to_loss", "budget": 90.0}
    tuner(speed(), options={**options, "max_trials": 1, "global_batch": 32}, study="one")
    result = tuner(speed(), engine=engine, options=options, study="two")
    assert result.interrupted
    assert result.trials[0].configuration == result.answer.own


def test_a_profile_that_is_interrupted_leaves_the_verdict(
    tuner: Tuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr("autotune.search.profiling.Profiler.run", interrupted)
    result = tuner(speed(distributed=0.5), options={"budget": 180.0})
    assert result.verdict is Verdict.ONE_DEVICE
    assert result.diagnosis is None
    assert not result.interrupted


def test_what_the_budget_cut_off_is_tried_again(tuner: Tuner) -> None:
    late = Stop(outcome=Outcome.UNFINISHED, reason=BudgetEnded())
    with pytest.raises(NothingMeasured):
        tuner(speed(), engine=FakeEngine(lambda _: late), options={"budget": 50.0}, study="one")
    result = tuner(speed(), options={"budget": 50.0}, study="one", resume=True)
    own = [each.outcome for each in result.trials if each.configuration == Configuration()]
    assert own[0] is Outcome.UNFINISHED
    assert {*own[1:]} & {Outcome.MEASURED, Outcome.PRUNED}


@pytest.mark.parametrize("most", [1, 9])
def test_the_number_of_trials_is_kept(tuner: Tuner, most: int) -> None:
    result = tuner(speed(), options={"budget": None, "max_trials": most})
    assert len(result.trials) <= most


def test_a_small_space_ends_before_its_budget(tuner: Tuner) -> None:
    assert tuner(speed(distributed=0.3), options={"budget": 3600.0}).seconds < 600
