"""Reads a notebook as Python.

autotune writes this file beside a program that runs a notebook. It needs Python alone.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap


def code_of_notebook(document: str) -> str:
    """Return the cells of code, in which what only Jupyter understands is a comment."""
    cells = [each for each in json.loads(document)["cells"] if each["cell_type"] == "code"]
    return "\n".join(python_of_cell("".join(each["source"])) for each in cells)


def python_of_cell(cell: str) -> str:
    """Return a cell as Python of as many lines; a mistake in it stays for Python to tell."""
    lines = textwrap.dedent(cell).split("\n")
    first = next((each for each in lines if each.strip() and each[0] != "#"), "")
    if re.match(r"%%(?!time|timeit|capture|prun)", first):
        return "\n".join(f"# {each}" for each in lines)
    while True:
        try:
            ast.parse("\n".join(lines))
        except SyntaxError as error:
            number = (error.lineno or 1) - 1
        else:
            break
        found = re.match(r"(\s*)(?:%time\s+(.+)|[%!?].*|[\w.]+\?\??\s*$)", lines[number])
        if found is None:
            break
        goes_on = lines[number].rstrip().endswith("\\")
        lines[number] = found[1] + (found[2] or f"pass  # {lines[number].strip()}".rstrip("\\ "))
        while goes_on and number + 1 < len(lines):
            number += 1
            goes_on = lines[number].rstrip().endswith("\\")
            lines[number] = ""
    return "\n".join(lines)
