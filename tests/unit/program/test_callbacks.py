"""Which callbacks the command line of a program asks for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autotune.library import FOLDER
from autotune.program import CACHES

from .conftest import of_library


def asked(
    folder: str | None, turn: int = 1, history: str | None = None, **environment: str
) -> list[Any]:
    """Return the callbacks, with what they are told in their place."""
    loggers = SimpleNamespace(CSVLogger=lambda file, append: (file, append))

    class Saving(type(Path())):  # type: ignore[misc] # which class that is depends on the system
        stays = None

    callbacks_of = of_library(
        "keras_training",
        "callbacks_of",
        Checkpoints=Saving,
        Path=Path,
        json=json,
        keras=SimpleNamespace(callbacks=loggers),
        os=SimpleNamespace(environ={**os.environ, **environment}),
    )
    args = SimpleNamespace(callbacks=[], history=history, resume=folder, save=None, checkpoints=[])
    found: list[Any] = callbacks_of(args, turn=turn)
    return found


def test_each_training_of_a_script_has_checkpoints_of_its_own(tmp_path: Path) -> None:
    """Else the first one would go on from those of the one that was killed."""
    folder = tmp_path / "checkpoints"
    found = [asked(str(folder), turn) for turn in (1, 2, 3)]
    assert found == [[folder], [tmp_path / "checkpoints-2"], [tmp_path / "checkpoints-3"]]
    assert asked(None, 2) == []


@pytest.mark.parametrize("saved", [None, "checkpoints", "checkpoints-2"])
def test_a_history_goes_on_with_its_training(tmp_path: Path, saved: str | None) -> None:
    """Also where a later turn of a script was killed, and the first one is made again."""
    goes_on = saved is not None
    if saved:
        (tmp_path / saved).mkdir()
    found = asked(str(tmp_path / "checkpoints"), 1, "history.csv")
    assert found[0] == ("history.csv", goes_on)
    assert asked(None, 2, "history.csv") == [("history.csv", True)]


def test_caches_are_called_as_those_who_remove_them_expect() -> None:
    """The engine removes what a killed program has left by the beginning of its name."""
    assert f'prefix="{CACHES}"' in (FOLDER / "keras_training.py").read_text(encoding="utf-8")


def test_one_worker_writes_the_history() -> None:
    """Else all of them would write into one file."""
    second = json.dumps({"task": {"type": "worker", "index": 1}})
    assert asked(None, 1, "history.csv", TF_CONFIG=second) == []
