"""A search from start to end, as a user sees it. Nothing here depends on how fast anything was."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import optuna
import pytest

from autotune import load_configuration

from .conftest import DIGITS, Done, Run

pytestmark = pytest.mark.real


@pytest.fixture(scope="session")
def out(project: Path, search: Done) -> Path:
    assert search.returncode == 0, search.stderr
    return project / "autotune-out"


def test_stdout_is_one_json_document(search: Done, out: Path) -> None:
    """It tells the verdict, and names files that exist, a page for people among them."""
    read = json.loads(search.stdout)
    assert read["verdict"] in ("distribute", "one device", "undecided")
    assert read["summary"]
    assert read["reasons"]
    assert all((out.parent / path).is_file() for path in read["files"].values())
    page = out.parent / read["files"]["report.html"]
    assert read["study"] in page.read_text("utf-8")


def test_stderr_tells_what_happened(search: Done, out: Path) -> None:
    """The plan in short, and a line for each trial."""
    assert "--dry-run lists them" in search.stderr
    assert search.stderr.count("measured") >= 2
    assert out.is_dir()


def test_every_trial_is_in_every_file(search: Done, out: Path) -> None:
    """Document, CSV, JSON lines and study agree."""
    count = len(json.loads(search.stdout)["trials"])
    with (out / "trials.csv").open() as lines:
        assert len(list(csv.DictReader(lines))) == count
    assert len((out / "trials.jsonl").read_text().splitlines()) == count
    study = optuna.load_study(study_name=None, storage=f"sqlite:///{out / 'study.db'}")
    assert len(study.trials) == count


def test_the_program_trains(run: Run, out: Path) -> None:
    """By its command, as one process or as several workers."""
    copy = load_configuration(out.parent / "copy.yaml").configuration
    steps = str(copy.steps_per_execution)
    done = run("run", str(out), "--", "--epochs", "1", "--steps-per-epoch", steps)
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


@pytest.mark.parametrize("config", ["autotune-out/config.yaml", "copy.yaml"])
def test_script_renders_the_same_program(run: Run, out: Path, config: str) -> None:
    """Byte for byte, from the folder's configuration and from the copy."""
    assert run("script", config).stdout == (out / "train.py").read_text()
    assert (out.parent / "copy.py").read_bytes() == (out / "train.py").read_bytes()


def test_another_workload_cannot_resume_the_study(run: Run, out: Path) -> None:
    """The message says what differs, and the study stays as it was."""
    before = (out / "trials.csv").read_text()
    done = run("tune", *DIGITS, "--space", "quick", "--model-arg", "filters=8", "--resume")
    assert done.returncode == 2
    assert "different workload" in done.stderr
    assert (out / "trials.csv").read_text() == before
