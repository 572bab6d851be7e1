"""Telling what is wrong with a job from what is wrong with the host."""

import errno
import sqlite3

import pytest

from autotune.api.work.child import (
    LONGEST_DETAIL,
    LONGEST_REASON,
    NO_ENGINE,
    GaveUp,
    Stuck,
    final_message,
    line,
    message,
)
from autotune.errors import (
    AutotuneError,
    EngineError,
    FactoryFailed,
    NothingMeasured,
    OutputError,
    SpaceError,
)
from autotune.events import Notice


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
