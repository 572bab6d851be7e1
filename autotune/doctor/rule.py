"""A rule: what it looks for, why that is a mistake, and examples which are its tests."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autotune.doctor.code.module import Module
from autotune.doctor.edits import Edit
from autotune.doctor.report import Severity

Hit = tuple[ast.AST, str] | tuple[ast.AST, str, Edit | None]
"""Where it is, a sentence that says what is wrong there, and the remedy if it is mechanical."""
Hits = Iterator[Hit]
HERE = "# <- here"
"""Ends the lines of a bad example where the rule must find something."""


@dataclass(frozen=True)
class Rule:
    name: str
    """Names it in output, options and comments."""
    title: str
    """What the mistake is, in a few words."""
    severity: Severity
    why: str
    """What comes of it."""
    instead: str
    """What to write instead."""
    check: Callable[[Module], Hits]
    bad: tuple[str, ...]
    good: tuple[str, ...]


def mended(example: str, wrong: str, right: str) -> str:
    """Return a bad example as it is right, with one piece of it in other words."""
    return example.replace(wrong, right).replace(f"  {HERE}", "")
