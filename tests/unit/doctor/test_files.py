"""Which files are read, and how."""

import json
from pathlib import Path

import pytest

from autotune.doctor.check import check_paths, files_of
from autotune.doctor.report import Report
from autotune.doctor.rules import rules


def check(*paths: str) -> Report:
    return check_paths(map(Path, paths), rules())


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in cells]
    text = {"cell_type": "markdown", "source": ["strategy.run\n"]}
    return json.dumps({"nbformat": 4, "cells": [text, *code]})


def test_folders_are_searched(folder: Path) -> None:
    """For Python files and notebooks; not in hidden places and virtual environments."""
    for name in ("src/a.py", "src/b.ipynb", "src/c.txt", ".hidden/d.py", "__pycache__/e.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    (folder / "env/lib").mkdir(parents=True)
    (folder / "env/pyvenv.cfg").touch()
    (folder / "env/lib/f.py").touch()
    assert [str(each) for each in files_of([Path()])] == ["bad.py", "src/a.py", "src/b.ipynb"]


def test_a_file_that_is_named_is_read_once(folder: Path) -> None:
    """Wherever it is, and however often it is named."""
    (folder / ".hidden").mkdir()
    (folder / "bad.py").rename(folder / ".hidden/bad")
    assert len(check(".hidden/bad", ".hidden/bad", ".").findings) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"def f(:\n    pass\n", "broken.py:1:7"),
        (b"\xff\xfe\x00", "broken.py"),
        (b"# coding: nosuch\n", "broken.py"),
        (b"x = 'a\x00b'\n", "broken.py"),
        (None, "broken.py cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told_and_the_rest_is_checked(
    folder: Path, content: bytes | None, words: str
) -> None:
    """The message names the place, and the other files are checked all the same."""
    if content is not None:
        (folder / "broken.py").write_bytes(content)
    report = check("broken.py", "bad.py")
    assert [words in each.text for each in report.troubles] == [True]
    assert not report.complete
    assert len(report.findings) == 1


def test_columns_count_characters(folder: Path, bad: str) -> None:
    code = bad.replace("    strategy.run(", "    'äöü€'; strategy.run(")
    (folder / "bad.py").write_text(code, "utf-8")
    place = check("bad.py").findings[0].place
    assert (place.line, place.column) == (5, 13)
    call = "strategy.run(lambda each: model(each), args=(batch,))"
    assert (place.end_line, place.end_column) == (5, 13 + len(call))


def test_other_encodings_are_read_as_python_does(folder: Path, bad: str) -> None:
    (folder / "bad.py").write_bytes(f"# coding: latin-1\n'ä'\n{bad}".encode("latin-1"))
    assert check("bad.py").findings[0].place.line == 7


def test_a_notebook_is_one_program(folder: Path, bad: str) -> None:
    """Its cells share their names; places are counted within a cell."""
    lines = bad.splitlines(keepends=True)
    cells = ("%matplotlib inline\n" + "".join(lines[:3]), "!ls\n%%time\n" + "".join(lines[3:]))
    (folder / "note.ipynb").write_text(notebook("%%bash\necho (\n", *cells))
    place = check("note.ipynb").findings[0].place
    assert str(place) == "note.ipynb:cell 3:4:5"


def test_an_error_in_a_notebook_names_the_cell(folder: Path, bad: str) -> None:
    """By its number among the code cells; the others are checked, but the file is not complete."""
    (folder / "note.ipynb").write_text(notebook("x = 1\n", "y = (\n", bad))
    report = check("note.ipynb")
    assert "note.ipynb:cell 2:1" in report.troubles[0].text
    assert not report.complete
    assert [str(each.place) for each in report.findings] == ["note.ipynb:cell 3:5:5"]


@pytest.mark.parametrize(
    "cell",
    [
        "files = !ls\ntf.data?\nx = 1",
        "!ls\ntext = ('%d'\n% (1))",
        "pip install tensorflow",
        "files = !ls \\\n  *.py",
        "%load_ext x \\\n  --y",
    ],
)
def test_cells_that_jupyter_takes_are_read(folder: Path, bad: str, cell: str) -> None:
    """Commands, magics and questions, lines that go on; one that begins with `%` may be Python."""
    (folder / "note.ipynb").write_text(notebook(cell, bad))
    report = check("note.ipynb")
    assert report.troubles == ()
    assert str(report.findings[0].place) == "note.ipynb:cell 2:5:5"


def test_a_program_that_a_notebook_writes_is_checked(folder: Path, bad: str) -> None:
    """By itself, at its place in the notebook."""
    (folder / "note.ipynb").write_text(notebook("x = 1", f"%%writefile train.py\n{bad}"))
    report = check("note.ipynb")
    assert [str(each.place) for each in report.findings] == ["note.ipynb:cell 2:6:5"]
    assert report.files == 1


def test_paths_are_left_out(folder: Path) -> None:
    """By patterns, of folders as well; not if they are named."""
    (folder / "old").mkdir()
    (folder / "old/a.py").touch()
    assert [str(each) for each in files_of([Path()], ["old"])] == ["bad.py"]
    assert [str(each) for each in files_of([Path("bad.py")], ["*.py"])] == ["bad.py"]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"cells": {}}', '{"worksheets": []}'])
def test_what_is_no_notebook_is_told(folder: Path, content: str) -> None:
    (folder / "note.ipynb").write_text(content)
    assert "note.ipynb" in check("note.ipynb").troubles[0].text


def test_a_warning_of_python_is_not_ours_to_tell(
    folder: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """Odd escapes in a text do not disturb the output."""
    (folder / "odd.py").write_text("x = '\\d'\n")
    assert check("odd.py").troubles == ()
    assert len(recwarn) == 0
