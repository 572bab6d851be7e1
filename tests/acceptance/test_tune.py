"""A search with Ctrl-C in between, and its verification. Nothing here depends on any speed."""

import csv
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import optuna
import psutil
import pytest

from .conftest import COMMAND, DIGITS, Done, Run, counted

pytestmark = pytest.mark.real

CALL = ("tune", *DIGITS, "--space", "quick")
ONE_ROUND = ("--engine", "counting:Counting", "--seconds", "400")
"""Each of its runs takes 150 s by that engine's clock, whatever it took."""
Interrupted = tuple[Done, list[psutil.Process]]


@pytest.fixture(scope="module")
def out(project: Path) -> Path:
    return project / "autotune-out"


@pytest.fixture(scope="module")
def interrupted(project: Path) -> Iterator[Interrupted]:
    """A search that got Ctrl-C during its second trial, and the processes that it had then."""
    call = [COMMAND, *CALL]
    with subprocess.Popen(
        call, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        seen = ""
        while " measured " not in seen:
            line = process.stderr.readline()
            assert line, f"it ended by itself: {seen}"
            seen += line
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=300)
    yield subprocess.CompletedProcess(call, process.returncode, stdout, seen + stderr), family
    for each in family:
        if each.is_running():
            each.kill()


@pytest.fixture(scope="module")
def kept(interrupted: Interrupted, out: Path) -> list[str]:
    """The lines of the trials that were interrupted."""
    assert interrupted[0].returncode == 130, interrupted[0].stderr
    return (out / "trials.jsonl").read_text().splitlines()


@pytest.fixture(scope="module")
def search(run: Run, kept: list[str]) -> Done:
    """The same search to its end, with one trial more, by a clock that counts runs."""
    assert kept
    done = run(*CALL, "--resume", *counted(len(kept) + 1, 650), "--json")
    assert done.returncode == 0, done.stderr
    return done


def test_ctrl_c_keeps_what_was_found(interrupted: Interrupted, out: Path) -> None:
    """The exit code is 130; what was found is printed and saved, and nothing is left running."""
    done, family = interrupted
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stdout
    assert "--resume" in done.stdout
    assert "Traceback" not in done.stderr
    names = {each.name for each in out.iterdir()}
    assert {"config.yaml", "train.py", "trials.csv", "trials.jsonl", "study.db"} <= names
    assert family
    _, alive = psutil.wait_procs(family, timeout=120)
    assert alive == []


def test_stdout_is_one_json_document(search: Done, out: Path) -> None:
    """It tells the verdict, and names files that exist, a page for people among them."""
    read = json.loads(search.stdout)
    assert read["verdict"] in ("distribute", "one device", "not sure yet")
    assert read["summary"]
    assert read["reasons"]
    assert all((out.parent / path).is_file() for path in read["files"].values())
    page = out.parent / read["files"]["report.html"]
    assert read["study"] in page.read_text("utf-8")


def test_every_trial_is_in_every_file(search: Done, kept: list[str], out: Path) -> None:
    """Document, CSV, JSON lines and study agree; those of the first search stay as they were."""
    count = len(json.loads(search.stdout)["trials"])
    lines = (out / "trials.jsonl").read_text().splitlines()
    assert lines[: len(kept)] == kept
    assert len(lines) == count > len(kept)
    with (out / "trials.csv").open() as rows:
        assert len(list(csv.DictReader(rows))) == count
    study = optuna.load_study(study_name=None, storage=f"sqlite:///{out / 'study.db'}")
    assert len(study.trials) == count


def test_the_program_trains(run: Run, search: Done, out: Path) -> None:
    """By its command, as one process or as several workers."""
    steps = json.loads(search.stdout)["configuration"]["steps_per_execution"]
    done = run("run", out, "--", "--epochs", "1", "--steps-per-epoch", str(steps))
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


def test_what_was_recommended_is_verified(
    run: Run, search: Done, out: Path, tmp_path: Path
) -> None:
    """From any folder the program runs, its throughput is told, and the exit code is the answer."""
    assert search.stdout
    done = run("verify", out / "config.yaml", "--json", *ONE_ROUND, folder=tmp_path)
    read = json.loads(done.stdout)
    assert done.returncode == int(read["outcome"] == "fails"), done.stderr
    assert read["summary"]
    assert read["examples_per_second"]["value"] > 0
    assert read["ratio_to_expected"]["value"] > 0
    assert read["notes"] == []
    assert done.stderr.count("measured") >= 1
