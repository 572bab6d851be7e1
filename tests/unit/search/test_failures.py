"""Nothing that a trial does ends the search."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune import Outcome, Verdict
from autotune.config import Configuration
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks.train import TrialRequest
from autotune.errors import Interrupted, NothingMeasured
from autotune.reason import Message, SmallerRanOut
from autotune.search.bounds import Dominance
from autotune.testing import Ending, FakeEngine

from .conftest import Tuner, speed


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED])
def test_a_strategy_that_always_fails_is_left_after_three(tuner: Tuner, outcome: Outcome) -> None:
    """The search goes on without it and still answers, with the failures among its reasons."""

    def truth(c: Configuration) -> float | Ending:
        ending = Ending(outcome=outcome, reason=Message(text="it is broken"))
        return ending if c.strategy == "mirrored" else speed(distributed=0.8)(c)

    result = tuner(truth, options={"budget": 600.0})
    failed = [t for t in result.trials if t.outcome is outcome]
    assert 1 <= len(failed) <= 3
    assert result.verdict is Verdict.ONE_DEVICE
    assert any("it is broken" in reason for reason in result.reasons)


def test_where_the_first_of_each_strategy_fails_others_are_tried(tuner: Tuner) -> None:
    """The rest of the time is not left unused, and who gains is found."""

    def truth(c: Configuration) -> float | Ending:
        fails = c.distributed and c.per_replica_batch * c.steps_per_execution == 128 * 8
        ending = Ending(outcome=Outcome.FAILED, reason=Message(text="it is broken"))
        return ending if fails else speed(distributed=1.5)(c)

    result = tuner(truth, options={"budget": 180.0})
    assert any(t.outcome is Outcome.FAILED for t in result.trials)
    assert result.verdict is Verdict.DISTRIBUTE


def test_when_nothing_runs_the_first_reason_is_told(tuner: Tuner) -> None:
    """Three failures and no success end the search, with the cause."""
    broken = Ending(outcome=Outcome.FAILED, reason=Message(text="ValueError: shapes do not match"))
    with pytest.raises(NothingMeasured, match="shapes do not match"):
        tuner(lambda _: broken)


def test_out_of_memory_rules_out_larger_batches(tuner: Tuner) -> None:
    """A larger batch of the same family is not run; the reason names the trial."""

    def truth(c: Configuration) -> float | Ending:
        full = Ending(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text="the ceiling was passed"))
        return full if c.per_replica_batch > 32 else 100.0

    result = tuner(truth, options={"budget": 600.0})
    failed = next(t for t in result.trials if t.outcome is Outcome.OUT_OF_MEMORY)
    reason = Dominance(result.trials).why_not(failed.configuration.but(per_replica_batch=256))
    assert reason == SmallerRanOut(trial=failed.number)
    assert result.config.per_replica_batch == 32
    assert any("ran out of memory in trial" in each for each in result.reasons)


class InterruptedEngine(FakeEngine):
    """The user presses Ctrl-C during a certain trial."""

    def __init__(self, at: int) -> None:
        super().__init__(speed())
        self.at = at

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run until the trial at which the user gives up."""
        if len(self.requests) == self.at:
            raise KeyboardInterrupt
        return super().run(request, watch)


def test_ctrl_c_keeps_what_was_found(tuner: Tuner, tmp_path: Path) -> None:
    """An interrupted search returns the best so far and writes its files."""
    result = tuner(speed(), engine=InterruptedEngine(at=4))
    assert result.interrupted
    assert len(result.trials) == 4
    assert (tmp_path / "out" / "train.py").read_text() == result.script


def test_ctrl_c_before_anything_was_measured_is_an_error(tuner: Tuner) -> None:
    """There is nothing to recommend yet."""
    with pytest.raises(Interrupted):
        tuner(speed(), engine=InterruptedEngine(at=0))


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED])
def test_resume_tries_again_what_was_mended(tuner: Tuner, outcome: Outcome) -> None:
    """Failures of an earlier session neither end a search nor rule anything out."""
    broken = Ending(outcome=outcome, reason=Message(text="no room in /dev/shm"))
    with pytest.raises(NothingMeasured):
        tuner(lambda _: broken)
    result = tuner(speed(), resume=True)
    before, after = result.trials[:3], result.trials[3:]
    assert all(trial.outcome is outcome for trial in before)
    measured = {trial.configuration for trial in after if trial.measured}
    assert {trial.configuration for trial in before} <= measured


def test_resume_tries_again_a_strategy_that_was_left(tuner: Tuner) -> None:
    """What was skipped for its failures is run too."""

    def truth(c: Configuration) -> float | Ending:
        ending = Ending(outcome=Outcome.FAILED, reason=Message(text="it is broken"))
        return ending if c.strategy == "mirrored" else 100.0

    first = tuner(truth, options={"budget": 600.0})
    result = tuner(lambda _: 100.0, options={"budget": 600.0}, resume=True)
    later = result.trials[len(first.trials) :]
    assert any(trial.measured for trial in later if trial.configuration.strategy == "mirrored")


def test_resume_knows_what_ran_out_of_memory(tuner: Tuner) -> None:
    """Neither it nor what needs more memory is run again."""

    def truth(c: Configuration) -> float | Ending:
        full = Ending(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text="the ceiling was passed"))
        return full if c.per_replica_batch > 32 else 100.0

    first = tuner(truth, options={"budget": 600.0})
    full = {t.configuration for t in first.trials if t.outcome is Outcome.OUT_OF_MEMORY}
    engine = FakeEngine(speed())
    tuner(speed(), engine=engine, options={"budget": 600.0}, resume=True)
    assert full
    assert not full & {request.configuration for request in engine.requests}
