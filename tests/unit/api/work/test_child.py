"""The process of a search: its last message, and the engine between the search and the real one."""

import errno
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from autotune.api.values import AttemptReport
from autotune.api.work import child
from autotune.api.work.child import (
    LONGEST_DETAIL,
    LONGEST_REASON,
    NO_ENGINE,
    GaveUp,
    Message,
    Reporting,
    SearchOrder,
    Stuck,
    final_message,
    line,
    message,
)
from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.tasks import trial_in
from autotune.errors import (
    AutotuneError,
    EngineError,
    FactoryFailed,
    NothingMeasured,
    OutputError,
    SpaceError,
)
from autotune.events import Notice
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from tests.engines.contract import KINDS, WrapperContract, every_task
from tests.engines.fake import FakeEngine
from tests.trials import request_for


def raised(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def of_sqlite(code: int) -> Exception:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return raised(RuntimeError("The storage failed."), error)


@pytest.mark.parametrize(
    "error",
    [
        OutputError("/data/jobs cannot be written.", "Choose another --out."),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        OSError(errno.EROFS, "Read-only file system"),
        PermissionError(errno.EACCES, "Permission denied"),
        of_sqlite(sqlite3.SQLITE_FULL),
        of_sqlite(sqlite3.SQLITE_IOERR_WRITE),
        raised(EngineError("No folder."), OSError(errno.ENOSPC, "No space left on device")),
    ],
    ids=repr,
)
def test_a_disk_that_cannot_be_used_is_no_fault_of_the_job(error: Exception) -> None:
    word = final_message(error)
    assert isinstance(word, Stuck)
    assert str(error) in word.for_log


@pytest.mark.parametrize(
    "error",
    [
        NothingMeasured("Every trial failed."),
        FactoryFailed("model_fn raised ValueError: no."),
        SpaceError("There is no axis of that name."),
        raised(FactoryFailed("It cannot be read."), PermissionError(errno.EACCES, "Denied")),
    ],
    ids=repr,
)
def test_what_is_wrong_with_the_job_is_told(error: AutotuneError) -> None:
    assert final_message(error) == GaveUp(reason=str(error))


def test_what_is_wrong_with_the_engine_goes_to_the_log() -> None:
    told = final_message(EngineError("TensorFlow in /opt/venv is broken."))
    assert told == GaveUp(
        reason=NO_ENGINE, for_log="EngineError: TensorFlow in /opt/venv is broken."
    )


@pytest.mark.parametrize(
    "error", [ValueError("No."), FileNotFoundError(errno.ENOENT, "None"), of_sqlite(1)], ids=repr
)
def test_what_nobody_understands_has_no_last_word(error: Exception) -> None:
    assert final_message(error) is None


def test_a_detail_is_one_line_of_some_length() -> None:
    word = final_message(OutputError("first\nsecond " + "x" * 5000))
    assert word == Stuck(for_log="OutputError: first second ".ljust(LONGEST_DETAIL, "x"))


def test_a_reason_is_a_text_that_every_database_takes() -> None:
    """PostgreSQL keeps no zero, and nobody reads five megabytes in a list of jobs."""
    word = final_message(FactoryFailed("a\0b" + "x" * 5_000_000))
    assert word == GaveUp(reason="a?b".ljust(LONGEST_REASON, "x") + "...")


@pytest.mark.parametrize("what", [GaveUp(reason="caf\udce9"), Notice(text="caf\udce9")], ids=repr)
def test_a_message_may_hold_what_is_no_text(what: GaveUp | Notice) -> None:
    shown = message.validate_json(line(what))
    assert isinstance(shown, GaveUp | Notice)
    assert "caf?" in str(shown)


BAD = Configuration(per_replica_batch=64)


@pytest.fixture(autouse=True, scope="module")
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def shown() -> list[Message]:
    return []


@pytest.fixture
def engine(shown: list[Message]) -> Engine:
    return Reporting(FakeEngine(lambda _: 100.0), shown.append, [BAD])


def test_a_search_that_waits_does_not_tell_what_the_holder_of_the_machine_wrote(
    order_after: Callable[[], SearchOrder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any account of the machine may write that."""
    shown, engine = [], FakeEngine(lambda _: 100.0)
    engine.reserved = lambda what, notify, _: notify(f"/home/somebody keeps {what} waiting.")
    monkeypatch.setattr(child, "new_engine", lambda _: engine)

    def send(what: Message) -> None:
        shown.append(what)
        raise EngineError("stopped")

    with pytest.raises(EngineError, match="stopped"):
        child._search(order_after(), send, None)
    assert shown == [Notice(text=child.BUSY)]


TRIALS = [name for name, task in every_task(Path("unused")).items() if trial_in(task)]
"""Tasks that run a configuration, whatever for."""


@pytest.mark.parametrize("kind", TRIALS)
def test_nothing_is_run_that_is_set_aside(shown: list[Message], tmp_path: Path, kind: str) -> None:
    inner = create_autospec(Engine, instance=True)
    engine = Reporting(inner, shown.append, [Configuration()])
    engine.execute(every_task(tmp_path)[kind])
    assert shown == inner.method_calls == []


def test_a_trial_that_is_set_aside_has_the_reason(engine: Engine, tmp_path: Path) -> None:
    result = engine.execute(request_for("fit", tmp_path, configuration=BAD))
    assert result.outcome is Outcome.CRASHED
    assert "died twice" in reason_text(result.reason)


@pytest.mark.parametrize("kind", TRIALS)
def test_what_runs_is_told(shown: list[Message], tmp_path: Path, kind: str) -> None:
    engine = Reporting(create_autospec(Engine, instance=True), shown.append, [])
    engine.execute(every_task(tmp_path)[kind])
    assert shown == [AttemptReport(running=Configuration()), AttemptReport(idle=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_runs_after_an_interrupt(engine: Engine, tmp_path: Path, kind: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        engine.execute(every_task(tmp_path)[kind])
    with pytest.raises(KeyboardInterrupt):
        engine.machine()
    assert engine.now() == 0.0, "the search could not end"


class TestReportingEngine(WrapperContract):
    @classmethod
    def wrap(cls, engine: Engine) -> Engine:
        return Reporting(engine, lambda _: None, [])
