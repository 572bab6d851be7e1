"""A script of one's own through the service: sent, tuned in a sandbox, fetched."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.text import STEERING
from tests.service import Serving, running

from .conftest import EXAMPLES, Run

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]

HOSTILE = """
import keras, os, pathlib, sys
print("\\x1b]52;c;ZXZpbA==\\x07 \\u202e from the program")
places = [pathlib.Path("/etc/shadow"), *pathlib.Path("/").glob("**/first-key")]
found = [each.name for each in places if os.access(each, os.R_OK)]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
raise ValueError(f"\\x1b[2J{found} \\u202e{sorted(os.environ)}")
model.fit([[1.0]], [[1.0]])
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service that has registered nothing."""
    with running(tmp_path_factory.mktemp("service"), engine="local") as service:
        yield service


@pytest.fixture
def home(tmp_path: Path, alone: Serving, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, and the service in the environment."""
    if not alone.client.get("/v1/workers").json()["workers"][0]["takes_code"]:
        pytest.skip("no sandbox here")
    shutil.copy(EXAMPLES / "whole_script.py", tmp_path / "train.py")
    monkeypatch.setenv("AUTOTUNE_URL", alone.url)
    monkeypatch.setenv("AUTOTUNE_API_KEY", alone.key)
    return tmp_path


def submitted(run: Run, home: Path, *words: str) -> str:
    made = run("submit", *words, folder=home)
    assert made.returncode == 0, made.stderr
    assert re.search(r"Sending \d files?, .*; the largest is", made.stderr)
    return made.stdout.strip()


def test_a_script_comes_back_as_its_program(
    home: Path, alone: Serving, run: Run, tmp_path: Path
) -> None:
    """With the result, the patch and the report; equal code is sent once."""
    limits = ("--max-trials", "2", "--train-for", "100h", "--strategies", "one_device")
    job = submitted(run, home, "train.py", *limits)
    watched = run("watch", job)
    assert watched.returncode == 0, watched.stderr
    assert "own network namespace" in watched.stderr
    fetched = run("fetch", job, "--out", tmp_path / "out", "--json")
    assert fetched.returncode == 0, fetched.stderr
    found = json.loads(fetched.stdout)
    assert found["workload"]["script"]["path"] == "train.py"
    assert len(found["trials"]) >= 1
    assert "keras" in (tmp_path / "out" / "train.py").read_text("utf-8")
    shown = alone.job(f"/v1/tunings/{job}")
    again = alone.client.get(f"/v1/code/{shown['program']['digest']}")
    assert again.status_code == 200


def test_a_hostile_program_is_told_as_text(home: Path, alone: Serving, run: Run) -> None:
    """What it raises names neither secrets nor steers a terminal."""
    (home / "train.py").write_text(HOSTILE)
    job = submitted(run, home, "train.py")
    watched = run("watch", job)
    assert watched.returncode == 3
    shown = alone.job(f"/v1/tunings/{job}")
    assert shown["state"] == "failed"
    assert "[] " in shown["reason"]
    assert "AUTOTUNE_SERVICE" not in shown["reason"]
    assert not STEERING.search(watched.stderr + shown["reason"])


def test_what_is_not_installed_is_named(home: Path, alone: Serving, run: Run) -> None:
    script = (home / "train.py").read_text("utf-8")
    (home / "train.py").write_text(f"import nosuchpackage\n{script}")
    job = submitted(run, home, "train.py")
    run("watch", job)
    assert "nosuchpackage" in alone.job(f"/v1/tunings/{job}")["reason"]
