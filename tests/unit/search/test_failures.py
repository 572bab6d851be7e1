"""Nothing that a trial does ends the search."""

import signal
import weakref
from pathlib import Path

import pytest

from autotune import Outcome, Verdict
from autotune.config import Configuration
from autotune.engine.base import RunResult, Stop, Watch
from autotune.engine.tasks import TrialRequest
from autotune.errors import Interrupted, NothingMeasured
from autotune.reason import Cause, KnownError, Message
from autotune.reason.sentences import reason_text
from autotune.search import posterior
from autotune.search.failures import RuledOut
from autotune.tuning import Tuner as Caller
from tests.engines.fake import FakeEngine

from .conftest import FULL, SPACE, Failing, Tuner, full_above_32, speed

OWN = Configuration(per_replica_batch=32)
BROKEN = Stop(outcome=Outcome.FAILED, reason=Message(text="it is broken"))


def test_a_strategy_that_always_fails_is_left_after_three(tuner: Tuner) -> None:
    """The search goes on without it and still answers, with the failures among its trials.

    A search that is resumed tries it again: it may have been mended.
    """
    slower = speed(distributed=0.8)

    def truth(c: Configuration) -> float | Stop:
        return BROKEN if c.strategy == "mirrored" else slower(c)

    result = tuner(truth, options={"budget": 120.0})
    failed = [t for t in result.trials if t.outcome is Outcome.FAILED]
    assert 1 <= len(failed) <= 3
    assert result.verdict is Verdict.ONE_DEVICE
    assert all("it is broken" in reason_text(t.reason) for t in failed)
    resumed = tuner(slower, options={"budget": 120.0}, resume=True)
    later = resumed.trials[len(result.trials) :]
    assert any(trial.measured for trial in later if trial.configuration.strategy == "mirrored")


def test_where_the_first_of_each_strategy_fails_others_are_tried(tuner: Tuner) -> None:
    def truth(c: Configuration) -> float | Stop:
        fails = c.distributed and c.per_replica_batch * c.steps_per_execution == 128 * 8
        return BROKEN if fails else speed(distributed=1.5)(c)

    result = tuner(truth, options={"budget": 180.0})
    assert any(t.outcome is Outcome.FAILED for t in result.trials)
    assert result.verdict is Verdict.DISTRIBUTE


def test_batches_that_cannot_be_made_anew_fail_once(tuner: Tuner) -> None:
    """Those of other sizes are left then, and the search goes on at the one that runs."""
    unequal = KnownError(cause=Cause.UNEQUAL_EXAMPLES)

    def truth(c: Configuration) -> float | Stop:
        fails = c.global_batch != OWN.global_batch
        return Stop(outcome=Outcome.FAILED, reason=unequal) if fails else speed()(c)

    result = tuner(truth, options={"budget": 120.0})
    failed = [t for t in result.trials if t.outcome is Outcome.FAILED]
    assert len(failed) == 1
    assert result.config.global_batch == OWN.global_batch


def test_out_of_memory_rules_out_larger_batches(tuner: Tuner) -> None:
    result = tuner(full_above_32, options={"budget": 120.0})
    full = {t.configuration for t in result.trials if t.outcome is Outcome.OUT_OF_MEMORY}
    assert full
    assert all(each.but(per_replica_batch=256) in RuledOut(result.trials) for each in full)
    assert result.config.per_replica_batch == 32
    engine = FakeEngine(speed())
    tuner(speed(), engine=engine, options={"budget": 120.0}, resume=True)
    assert not full & {request.configuration for request in engine.requests}


def test_what_does_not_fit_is_not_tried_in_every_way(
    tuner: Tuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of which some ran out of memory neither take the trials nor hold up the answer."""
    # As many as a search has: with few it is chance what is tried.
    monkeypatch.setattr(posterior, "WALKERS", 128)
    axes = {**SPACE.axes, "per_replica_batch": (32, 64, 128), "prefetch": (0, 2, "auto")}
    space = SPACE.model_copy(update={"axes": axes})

    def truth(c: Configuration) -> float | Stop:
        return FULL if c.per_replica_batch > 32 else speed(distributed=1.5)(c)

    result = tuner(truth, space=space, options={"budget": None, "max_trials": 40})
    assert result.verdict is Verdict.DISTRIBUTE
    assert sum(trial.outcome is FULL.outcome for trial in result.trials) <= 8


class RefusingEngine(FakeEngine):
    """Runs the user's own configuration once; then it crashes before any time has passed."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        own = request.configuration == OWN
        if own and any(each.configuration == OWN for each in self.requests):
            return RunResult(outcome=Outcome.CRASHED, reason=Message(text="it crashed"))
        return super().run(request, watch)


def test_what_ran_once_and_then_fails_is_left_after_two(tuner: Tuner) -> None:
    result = tuner(speed(distributed=1.02), engine=RefusingEngine(speed(distributed=1.02)))
    mine = [trial for trial in result.trials if trial.configuration == OWN]
    crashed = [trial for trial in mine if trial.outcome is Outcome.CRASHED]
    assert len(mine) == len(crashed) + 1
    assert len(crashed) <= 2


def test_ctrl_c_keeps_what_was_found(tuner: Tuner, tmp_path: Path) -> None:
    result = tuner(speed(), engine=Failing(4, KeyboardInterrupt()))
    assert result.interrupted
    assert len(result.trials) == 4
    assert (tmp_path / "out" / "train.py").read_text() == result.script


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_in_a_finalizer_is_not_lost(tmp_path: Path) -> None:
    """Python drops what is raised there, so that the search ends before its next run."""

    class Finalized(FakeEngine):
        def run(self, request: TrialRequest, watch: Watch) -> RunResult:
            weakref.finalize(watch, signal.raise_signal, signal.SIGINT)
            return super().run(request, watch)

    result = Caller(engine=Finalized(speed())).tune(
        "json:loads", "json:dumps", out=tmp_path / "out"
    )
    assert result.interrupted
    assert len(result.trials) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_before_anything_was_measured_is_an_error(tuner: Tuner) -> None:
    with pytest.raises(Interrupted):
        tuner(speed(), engine=Failing(0, KeyboardInterrupt()))


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED])
def test_resume_tries_again_what_was_mended(tuner: Tuner, outcome: Outcome) -> None:
    """Three failures and no success end a search with their cause, and rule nothing out later."""
    broken = Stop(outcome=outcome, reason=Message(text="no room in /dev/shm"))
    space = SPACE.model_copy(update={"strategies": ("one_device",)})
    with pytest.raises(NothingMeasured, match="no room in /dev/shm"):
        tuner(lambda _: broken, space=space)

    def mended(c: Configuration) -> float:
        return 2000.0 if (c.per_replica_batch, c.steps_per_execution) == (32, 8) else 1000.0

    result = tuner(mended, space=space, resume=True, options={"budget": 60.0})
    assert all(trial.outcome is outcome for trial in result.trials[:3])
    assert mended(result.config) == 2000.0
