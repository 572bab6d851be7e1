"""A disk that takes no more while a search runs costs its files, and not what was measured."""

import errno
import os
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.disk import put_each
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks import TrialRequest
from autotune.errors import OutputError
from autotune.program import render
from autotune.result import Result
from autotune.tuning import Tuner as Caller
from tests.engines.fake import FakeEngine

from .conftest import Failing, Tuner, speed

KINDS = (errno.ENOSPC, errno.EIO, errno.ENOENT)
"""The disk is full, or fails, or the folder is gone."""


def failing(at: int, number: int) -> Failing:
    """A disk that takes no more from a trial on, with an error of this number."""
    return Failing(at, OSError(number, os.strerror(number)))


class Removing(FakeEngine):
    """Somebody removes a folder while the third trial runs."""

    def __init__(self, folder: Path) -> None:
        super().__init__(speed())
        self._folder = folder

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        if len(self.requests) == 2:
            # At once: meanwhile a thread writes into it.
            gone = self._folder.rename(self._folder.with_name("gone"))
            shutil.rmtree(gone, ignore_errors=True)
        return super().run(request, watch)


@pytest.mark.parametrize("number", KINDS)
def test_what_was_measured_is_returned(tuner: Tuner, tmp_path: Path, number: int) -> None:
    result = tuner(speed(), engine=failing(4, number))
    assert len(result.trials) == 4
    assert result.interrupted
    assert str(tmp_path / "out") in result.unsaved.cause
    assert os.strerror(number) in result.unsaved.cause
    assert result.unsaved.files == ()
    assert (tmp_path / "out" / "train.py").read_text() == result.script


def test_a_folder_that_is_removed_is_made_again(tuner: Tuner, tmp_path: Path) -> None:
    """It takes all files of the result then; the study, which was in it, costs no answer."""
    engine, options = Removing(tmp_path / "out"), {"budget": None, "max_trials": 4}
    result = tuner(speed(), engine=engine, options=options, storage=None)
    assert not result.unsaved
    assert not result.interrupted
    assert (tmp_path / "out" / "train.py").read_text() == result.script


def test_a_disk_without_anything_measured_is_an_error_that_names_it(tmp_path: Path) -> None:
    engine = failing(0, errno.EROFS)
    with pytest.raises(OutputError, match=os.strerror(errno.EROFS)):
        Caller(engine=engine).tune("json:loads", "json:dumps", out=tmp_path / "out")


def test_another_error_of_the_system_is_not_the_disks(tuner: Tuner) -> None:
    with pytest.raises(BlockingIOError):
        tuner(speed(), engine=failing(4, errno.EAGAIN))


@pytest.mark.parametrize("name", ["report.html", "config.yaml"])
def test_the_other_files_are_written(tuner: Tuner, tmp_path: Path, name: str) -> None:
    """One that cannot be is named; nothing of it is left half."""
    (tmp_path / "out" / name / "in the way").mkdir(parents=True)
    result = tuner(speed(), options={"budget": None, "max_trials": 3})
    assert not result.interrupted
    assert result.unsaved.files == (name,)
    assert Result.load(tmp_path / "out").script == result.script
    assert not list((tmp_path / "out").glob(".*.draft"))


def test_a_folder_that_takes_too_little_is_refused_at_once(tmp_path: Path) -> None:
    """As if a quota allowed no more, and before the engine is reserved or asked for anything."""
    before, engine = resource.getrlimit(resource.RLIMIT_FSIZE), failing(0, errno.EAGAIN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(OutputError, match=r"out does not take 0\.2 MB more: File too large"):
            Caller(engine=engine).tune("json:loads", "json:dumps", out=tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert engine.reservations == []


@pytest.mark.parametrize("part", [render, put_each])
def test_ctrl_c_while_a_result_is_written_comes_too_late(
    tuner: Tuner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Callable[..., Any]
) -> None:
    """The result is complete, and not lost: neither its program nor a file of it."""

    def interrupted(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return part(*given)

    monkeypatch.setattr(f"autotune.search.tune.{part.__name__}", interrupted)
    result = tuner(speed(), options={"budget": None, "max_trials": 3})
    assert not result.interrupted
    assert Result.load(tmp_path / "out").trials == result.trials
