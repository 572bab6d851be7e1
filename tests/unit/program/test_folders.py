"""The program finds the folders of its factories, wherever it is run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest

from autotune.config import Configuration
from autotune.machine import Host, Machine
from autotune.program import render
from autotune.workload import Factory, Workload, WorkloadFacts

FACTORY = Factory(name="make", module="part.mine", root="lib")
Find = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder where autotune ran, while another one is the working folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return tmp_path / "pro'ject"


def finder(program: Path) -> Find:
    """Return the program's own function, as if the program were that file."""
    workload = Workload(model=FACTORY, dataset=FACTORY)
    machine = Machine(hosts=(Host(cpus=2, memory=2**34, processor="x"),))
    text = render(Configuration(), workload, WorkloadFacts(examples=8), machine).train
    start = text.index("def folder_of")
    names: dict[str, object] = {"Path": Path, "__file__": str(program)}
    exec(text[start : text.index("sys.path.insert", start)], names)  # noqa: S102 - our own text
    found = names["folder_of"]
    assert isinstance(found, FunctionType)
    return found


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
