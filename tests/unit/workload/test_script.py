"""Which script is meant, and which of its calls of `fit`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autotune.errors import FactoryNotFound
from autotune.workload import FitCall, Script, fit_calls, is_script, script_from_text

TEXT = """\
scaler.fit(x)
teacher.fit(
    x, y,
    epochs=3,
)
for _ in range(2):
    make().model.fit(x)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_path_without_a_function_is_a_script() -> None:
    """A factory has a colon."""
    assert is_script("train.py")
    assert is_script("a/b.ipynb")
    assert not is_script("train.py:make")
    assert not is_script("package.m:f")


def test_calls_of_fit_are_listed_with_their_lines() -> None:
    """Each with what it is called on, as the script writes it."""
    assert fit_calls(Path("train.py")) == (
        FitCall(line=1, of="scaler"),
        FitCall(line=2, of="teacher"),
        FitCall(line=7, of="make().model"),
    )


@pytest.mark.parametrize(
    ("fit", "line"), [(None, None), (2, 2), ("teacher", 2), ("make().model", 7), ("line 7", 7)]
)
def test_a_fit_is_chosen_by_number_name_or_line(fit: str | int | None, line: int | None) -> None:
    """Without a choice it is found when the script runs."""
    assert script_from_text("train.py", ["-v"], fit) == Script(
        path="train.py", arguments=("-v",), fit=line
    )


@pytest.mark.parametrize("fit", ["0", "4", "student", "line 3"])
def test_a_fit_that_is_not_there_is_an_error(fit: str) -> None:
    with pytest.raises(FactoryNotFound, match=r"no call of fit .* 2: teacher, line 2; 3: make"):
        script_from_text("train.py", (), fit)


def test_a_script_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FactoryNotFound, match=r"File other.py not found"):
        script_from_text("other.py")


def test_a_notebook_is_its_cells_without_magics(here: Path) -> None:
    """Lines count from the first cell of code on."""
    cells = [("markdown", "# Title"), ("code", "%pip install x\n!ls\nx = 1"), ("code", "%%bash\na")]
    cells += [("code", "if x:\n    !ls\n    model.fit(x)")]
    found = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    (here / "book.ipynb").write_text(json.dumps({"cells": found}))
    assert script_from_text("book.ipynb", (), "model") == Script(
        path="book.ipynb", notebook=True, fit=8
    )
