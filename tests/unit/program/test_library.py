"""Functions of the library, as a program calls them: where it looks, and what it watches by."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autotune.library import FOLDER
from autotune.program import CACHES

from .conftest import of_library


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where autotune ran, while another one is the working folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return tmp_path / "pro'ject"


def found_by(program: Path, folder: str, *modules: str) -> Path:
    path: list[str] = []
    above = of_library("keras_training", "places_above", Path=Path)
    names = {"Path": Path, "sys": SimpleNamespace(path=path), "places_above": above}
    of_library("keras_training", "add_folder", **names)(str(program), folder, *modules)
    return Path(path[0])


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize("place", ["train.py", "autotune-out/train.py", "out/one/two/train.py"])
def test_factories_are_found_from_the_program(project: Path, place: str) -> None:
    write(project / "lib" / "part" / "mine.py")
    assert found_by(write(project / place), "lib", "part/mine").samefile(project / "lib")


def test_the_working_folder_goes_before_folders_far_above(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a trial; what lies in a folder that others may write is not taken for the user's."""
    write(tmp_path / "lib" / "mine.py")
    write(project / "lib" / "mine" / "__init__.py")
    monkeypatch.chdir(project)
    program = write(tmp_path / "out" / "trials" / "0001" / "train.py")
    assert found_by(program, "lib", "mine").samefile(project / "lib")


def test_a_module_called_train_is_not_the_program_itself(project: Path) -> None:
    write(project / "train.py")
    program = write(project / "autotune-out" / "train.py")
    assert found_by(program, ".", "train").samefile(project)


def test_a_program_that_was_moved_says_so(project: Path) -> None:
    program = write(project / "train.py")
    with pytest.raises(SystemExit, match=r"Found no part/mine in 'lib'.*where autotune ran"):
        found_by(program, "lib", "part/mine")


def asked(
    folder: str | None, turn: int = 1, history: str | None = None, **environment: str
) -> list[Any]:
    """Return the callbacks, with what they are told in their place."""
    loggers = SimpleNamespace(CSVLogger=lambda file, append: (file, append))

    class Saving(type(Path())):
        stays = must = None

    callbacks_of = of_library(
        "keras_training",
        "callbacks_of",
        _was_killed=of_library("keras_training", "_was_killed", re=re),
        Checkpoints=Saving,
        Path=Path,
        _SAVING=[],
        json=json,
        keras=SimpleNamespace(callbacks=loggers),
        os=SimpleNamespace(environ={**os.environ, **environment}),
    )
    args = SimpleNamespace(callbacks=[], history=history, resume=folder, save=None, checkpoints=[])
    args.must_save = False
    found: list[Any] = callbacks_of(args, turn=turn)
    return found


def test_each_training_of_a_script_has_checkpoints_of_its_own(tmp_path: Path) -> None:
    """Else the first one would go on from those of the one that was killed."""
    folder = tmp_path / "checkpoints"
    found = [asked(str(folder), turn) for turn in (1, 2, 3)]
    assert found == [[folder], [tmp_path / "checkpoints-2"], [tmp_path / "checkpoints-3"]]
    assert asked(None, 2) == []


@pytest.mark.parametrize("saved", [None, "checkpoints", "checkpoints-2", "checkpoints-of-mine"])
def test_a_history_goes_on_with_its_training(tmp_path: Path, saved: str | None) -> None:
    """Also where a later turn was killed, and the first one is made again; one worker writes it."""
    goes_on = saved in {"checkpoints", "checkpoints-2"}
    if saved:
        (tmp_path / saved).mkdir()
    found = asked(str(tmp_path / "checkpoints"), 1, "history.csv")
    assert found[0] == ("history.csv", goes_on)
    assert asked(None, 2, "history.csv") == [("history.csv", True)]
    second = json.dumps({"task": {"type": "worker", "index": 1}})
    assert asked(None, 1, "history.csv", TF_CONFIG=second) == []


def test_caches_are_called_as_those_who_remove_them_expect() -> None:
    """The engine removes what a killed program has left by the beginning of its name."""
    assert f'prefix="{CACHES}"' in (FOLDER / "keras_training.py").read_text(encoding="utf-8")
