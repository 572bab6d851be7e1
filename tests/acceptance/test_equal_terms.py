"""Scripts whose one device and several replicas would not do the same: told, or made the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import FIELD, Run, counted

pytestmark = pytest.mark.real

Tuned = Callable[[str, int], dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(FIELD, tmp_path_factory.mktemp("field") / "scripts"))


@pytest.fixture(scope="module")
def tuned(run: Run, folder: Path) -> Tuned:
    def tuned(name: str, trials: int) -> dict[str, Any]:
        out = ("--no-diagnose", "--out", folder / f"out-{name}", "--json")
        done = run("tune", folder / name, "--space", "quick", *counted(trials, 800), *out)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return tuned


def test_what_compiling_an_eager_model_gains_is_the_first_thing_told(
    tuned: Tuned, folder: Path
) -> None:
    """The script's own settings are measured, the same compiled, and the program compiles."""
    found = tuned("eager.py", 2)
    own, compiled = (each["configuration"] for each in found["trials"][:2])
    assert own.pop("run_eagerly")
    assert not compiled.pop("run_eagerly")
    assert own == compiled
    assert found["reasons"][0].startswith("Your model runs eagerly (line 6): compiled, it takes 1/")
    program = (folder / "out-eager.py" / "train.py").read_text()
    assert "The script asks for eager execution in line 6" in program
    assert "model.run_eagerly = False" in program


def test_what_a_callback_takes_is_told_by_its_name(tuned: Tuned) -> None:
    """A callback that sleeps limits the step, whatever the machine computes meanwhile."""
    reasons = tuned("slow_callback.py", 1)["reasons"]
    [told] = [each for each in reasons if "with your own settings" in each]
    assert told.startswith("Callbacks limit a step with your own settings: callback Logger: 2")


def test_gradients_that_are_accumulated_stay_on_one_device(
    tuned: Tuned,
) -> None:
    """That is an answer, and an update is told to see several batches."""
    found = tuned("accumulating.py", 1)
    assert found["verdict"] == "one device"
    assert found["summary"].startswith(
        "Stay on one device: nothing distributed can run, because Keras cannot accumulate"
    )
    assert any(each.startswith("An update sees 3 batches") for each in found["reasons"])
