"""Reads files as programs: a notebook holds one, and one more for each file that it writes."""

import json
import re
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

from autotune.doctor.report import Trouble
from autotune.doctor.text import Text
from autotune.errors import CodeError
from autotune.notebook import python_of_cell

NOTEBOOK = ".ipynb"
_COMMAND = re.compile(
    r"^(\s*)(?:[\w., ]+=\s*[%!]|(?:pip3?|conda|cd|ls|cat|mkdir|rm|cp|mv)\s+[^\s=(])(?:.*\\\n)*.*",
    re.MULTILINE,
)
"""What Jupyter takes for one though it begins like Python, with the lines by which it goes on."""
_WRITES = re.compile(r"\s*%%writefile\s.*\.py\s*\n")


def read_texts(path: Path) -> list[Text]:
    """Return the programs of a file, or raise CodeError."""
    try:
        if path.suffix == NOTEBOOK:
            with warnings.catch_warnings(action="ignore"):  # Of what cells escape in their texts.
                return [*_notebook(path)]
        with tokenize.open(path) as file:
            return [Text(file=str(path), content=file.read())]
    except OSError as exc:
        raise CodeError(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as exc:
        raise CodeError(f"{path} is not a readable text file: {exc}.") from exc


def _notebook(path: Path) -> Iterator[Text]:
    """Yield the code cells of a notebook as one text, and those that write a program by themselves.

    A cell that is no Python is reported and left out; the others are checked without it.
    """
    content, cells, troubles = "", [], []
    for number, cell in enumerate(_code_cells(path), start=1):
        if written := _WRITES.match(cell):
            program = f"\n{cell[written.end() :]}\n"
            yield Text(file=str(path), content=program, cells=((number, 0),))
            continue
        python = python_of_cell(cell)
        if _mistake(python):
            python = python_of_cell(_COMMAND.sub(_passed, cell))
        if mistake := _mistake(python):
            place = f"{path}:cell {number}:{mistake.lineno or 1}:{mistake.offset or 1}"
            message = f"{place}: {mistake.msg}. The cell was left out."
            troubles.append(Trouble(message, unread=True))
        cells.append((number, content.count("\n")))
        content += "\n" * python.count("\n") if mistake else python
        content += "\n"
    yield Text(file=str(path), content=content, cells=tuple(cells), troubles=tuple(troubles))


def _code_cells(path: Path) -> Iterator[str]:
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise CodeError(f"{path} is not a notebook in nbformat 4.", "Save it again in Jupyter.")
    for cell in document["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            yield "".join(map(str, source if isinstance(source, list) else [source]))


def _passed(command: re.Match[str]) -> str:
    """Return an empty statement of as many lines."""
    return f"{command[1]}pass" + "\n" * command[0].count("\n")


def _mistake(python: str) -> SyntaxError | None:
    try:
        Text(file="", content=python).parse()
    except CodeError as exc:
        return exc.__cause__ if isinstance(exc.__cause__, SyntaxError) else SyntaxError(str(exc))
    return None
