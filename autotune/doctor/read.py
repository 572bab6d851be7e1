"""Reads files as programs: a notebook holds one, and one more for each file that it writes."""

import json
import re
import textwrap
import tokenize
from collections.abc import Iterator
from pathlib import Path

from autotune.doctor.report import Trouble
from autotune.doctor.text import Text
from autotune.errors import CodeError

NOTEBOOK = ".ipynb"
_MAGIC = re.compile(
    r"^(\s*)(?:[!?]|%(?!\s*\()|[\w., ]+=\s*[%!]|[\w.]+\?{1,2}\s*$"
    r"|(?:pip3?|conda|cd|ls|cat|mkdir|rm|cp|mv)\s+[^\s=(])"
)
_CELL_MAGIC = re.compile(r"^\s*%%(?!time|timeit|capture|prun)")
_WRITES = re.compile(r"^\s*%%writefile\s.*\.py\s*$")


def read_texts(path: Path) -> list[Text]:
    """Return the programs of a file.

    Raises:
        CodeError: It cannot be read, or is no text.
    """
    try:
        if path.suffix == NOTEBOOK:
            return [*_notebook(path)]
        with tokenize.open(path) as file:
            return [Text(file=str(path), content=file.read())]
    except OSError as exc:
        raise CodeError(f"{path} cannot be read: {exc.strerror or exc}.") from exc
    except (SyntaxError, ValueError, LookupError) as exc:
        raise CodeError(f"{path} is not a readable text file: {exc}.") from exc


def _notebook(path: Path) -> Iterator[Text]:
    """Yield the code cells of a notebook as one text, and those that write a program by themselves.

    A cell that is no Python is told and left out; the others are checked without it.
    """
    lines: list[str] = []
    cells: list[tuple[int, int]] = []
    troubles: list[Trouble] = []
    for number, source in enumerate(_code_cells(path), start=1):
        if _WRITES.match(source[0]):
            written = "\n".join(["", *source[1:], ""])
            yield Text(file=str(path), content=written, cells=((number, 0),))
            continue
        python = _without_magics(source)
        mistake = _mistake(python)
        if mistake is not None:
            place = f"{path}:cell {number}:{mistake.lineno or 1}:{mistake.offset or 1}"
            told = f"{place}: {mistake.msg}. The cell was left out."
            troubles.append(Trouble(told, unread=True))
        cells.append((number, len(lines)))
        lines += ["" for _ in python] if mistake else python
    content = "\n".join([*lines, ""])
    yield Text(file=str(path), content=content, cells=tuple(cells), troubles=tuple(troubles))


def _code_cells(path: Path) -> Iterator[list[str]]:
    document = json.loads(path.read_text("utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise CodeError(f"{path} is not a notebook in nbformat 4.", "Save it again in Jupyter.")
    for cell in document["cells"]:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            yield "".join(map(str, source if isinstance(source, list) else [source])).split("\n")


def _without_magics(lines: list[str]) -> list[str]:
    """Return the lines of a cell, with empty statements for what is not Python."""
    if _mistake(lines) is None:
        return lines
    lines = textwrap.dedent("\n".join(lines)).split("\n")  # As Jupyter does.
    first = next((each for each in lines if each.strip() and not each.startswith("#")), "")
    if _CELL_MAGIC.match(first):
        return ["" for _ in lines]
    python: list[str] = []
    goes_on = False
    for line in lines:
        found = _MAGIC.match(line)
        python.append("" if goes_on else f"{found[1]}pass" if found else line)
        goes_on = (goes_on or bool(found)) and line.rstrip().endswith("\\")
    return python


def _mistake(lines: list[str]) -> SyntaxError | None:
    try:
        Text(file="", content="\n".join(lines)).parse()
    except CodeError as exc:
        return exc.__cause__ if isinstance(exc.__cause__, SyntaxError) else SyntaxError(str(exc))
    return None
