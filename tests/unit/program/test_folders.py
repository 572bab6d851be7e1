"""The program finds the folders of its factories, wherever it is run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from .conftest import of_library

Find = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where autotune ran, while another one is the working folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return tmp_path / "pro'ject"


def finder(program: Path) -> Find:
    """Return what a program calls, as if it were that file, with the folder that is found."""
    path: list[str] = []
    names = {"Path": Path, "sys": SimpleNamespace(path=path)}
    add_folder = of_library("keras_training", "add_folder", **names)

    def find(folder: str, *modules: str) -> str:
        add_folder(str(program), folder, *modules)
        return path[0]

    return find


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize("place", ["train.py", "autotune-out/train.py", "out/one/two/train.py"])
def test_factories_are_found_from_the_program(project: Path, place: str) -> None:
    """Beside it, or from a folder above it, which is that of the tuning."""
    write(project / "lib" / "part" / "mine.py")
    found = finder(write(project / place))("lib", "part/mine")
    assert Path(found).samefile(project / "lib")


def test_a_program_elsewhere_finds_them_from_the_working_folder(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does a trial, whose program lies deeper."""
    write(project / "package" / "__init__.py")
    monkeypatch.chdir(project)
    program = write(tmp_path / "out" / "trials" / "0001" / "train.py")
    assert Path(finder(program)(".", "package")).samefile(project)


def test_the_working_folder_goes_before_folders_far_above(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in a folder that others may write is not taken for the user's."""
    write(tmp_path / "lib" / "mine.py")
    write(project / "lib" / "mine.py")
    monkeypatch.chdir(project)
    program = write(tmp_path / "out" / "trials" / "0001" / "train.py")
    assert Path(finder(program)("lib", "mine")).samefile(project / "lib")


def test_a_module_called_train_is_not_the_program_itself(project: Path) -> None:
    """The user's own train.py lies above the program's."""
    write(project / "train.py")
    program = write(project / "autotune-out" / "train.py")
    assert Path(finder(program)(".", "train")).samefile(project)


def test_a_program_that_was_moved_says_so(project: Path) -> None:
    """It names the modules, and what to do."""
    program = write(project / "train.py")
    with pytest.raises(SystemExit, match=r"Found no part/mine in 'lib'.*where autotune ran"):
        finder(program)("lib", "part/mine")
    assert str(project) not in sys.path
