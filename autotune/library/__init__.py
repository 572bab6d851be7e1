"""Modules that training programs import: plain Keras and TensorFlow, delivered as they stand here.

A program finds them beside it, so they import each other by no name of this package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = frozenset(each.stem for each in FOLDER.glob("keras_*.py"))


def modules_for(program: str | None) -> Mapping[str, str]:
    """Return the files that a program needs beside it, by name, with their texts."""
    return {f"{name}.py": _text(name) for name in _imported(program or "")}


@cache
def _imported(text: str) -> tuple[str, ...]:
    """Return the modules that a text imports, and those that they import themselves."""
    found = {*re.findall(r"^from (keras_\w+) import", text, flags=re.MULTILINE)} & NAMES
    return tuple(sorted(found.union(*(_imported(_text(name)) for name in found))))


@cache
def _text(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")
