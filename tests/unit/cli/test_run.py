"""`autotune run`: which command trains with what a search has written."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from autotune.cli.run import command_for
from autotune.errors import UsageError

from .conftest import run


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    (tmp_path / "train.py").touch()
    return tmp_path


@pytest.fixture
def workers(alone: Path) -> Path:
    for name in ("launch.py", "launch.slurm", "launch_ray.py"):
        (alone / name).touch()
    return alone


def test_one_process_is_its_program(alone: Path) -> None:
    found = command_for(alone, ["--epochs", "20"])
    assert found == [sys.executable, str(alone / "train.py"), "--epochs", "20"]


def test_workers_are_started_by_what_knows_the_place(workers: Path) -> None:
    launch = [sys.executable, str(workers / "launch.py")]
    assert command_for(workers, ["-h"]) == [*launch, "-h"]
    assert command_for(workers, [], hosts="a,b") == [*launch, "--hosts", "a,b"]
    assert command_for(workers, [], "ray")[1:] == [str(workers / "launch_ray.py")]


def test_slurm_takes_the_allocation_that_there_is(
    workers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a job is submitted, if this machine can do that."""
    script = [str(workers / "launch.slurm"), str(workers / "train.py"), "--epochs", "2"]
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    assert command_for(workers, script[2:], "slurm") == ["bash", *script]
    monkeypatch.delenv("SLURM_JOB_NODELIST")
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/sbatch")
    assert command_for(workers, script[2:], "slurm")[:2] == ["sbatch", "--wait"]
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(UsageError, match="no sbatch"):
        command_for(workers, [], "slurm")


def test_what_cannot_be_started_is_told(alone: Path, request: pytest.FixtureRequest) -> None:
    """A missing program; workers for a training of one process; hosts where ssh starts nothing."""
    with pytest.raises(UsageError, match=r"no train\.py in .*nowhere"):
        command_for(alone / "nowhere", [])
    for place in ({"hosts": "a,b"}, {"on": "slurm"}):
        with pytest.raises(UsageError, match="takes one process"):
            command_for(alone, [], **place)
    workers = request.getfixturevalue("workers")
    with pytest.raises(UsageError, match="slurm chooses them"):
        command_for(workers, [], "slurm", hosts="a,b")


def test_an_option_of_the_program_is_told_where_to_stand() -> None:
    done = run("run", "out", "--epochs", "3")
    assert (done.exit_code, "autotune run DIR -- --epochs 3" in done.stderr) == (2, True)


def test_an_option_of_a_search_is_refused_where_there_is_a_result(alone: Path) -> None:
    """It would do nothing, and may be meant for the program."""
    done = run("run", alone, "--budget", "3min")
    assert done.exit_code == 2
    assert "--budget is of a search" in done.stderr


@pytest.mark.parametrize(("named", "folder"), [([], "autotune-out"), (["out"], "out")])
def test_the_command_becomes_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: list[str], folder: str
) -> None:
    """Whichever folder is meant, so that signals and the exit code are the program's."""
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    Path(folder, "train.py").touch()
    became: list[Any] = []
    monkeypatch.setattr(os, "execvpe", lambda file, command, _: became.append([file, *command]))
    assert run("run", *named, "--", "--epochs", "3").exit_code == 0
    program = str(Path(folder) / "train.py")
    assert became == [[sys.executable, sys.executable, program, "--epochs", "3"]]
