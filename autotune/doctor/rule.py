"""A rule: what it looks for, why that is a mistake, and examples which are its tests."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from autotune.doctor.code import Module
from autotune.doctor.edits import Edit
from autotune.doctor.report import Severity

Hit = tuple[ast.AST, str] | tuple[ast.AST, str, Edit | None]
"""Where it is, a sentence that says what is wrong there, and the remedy if it is mechanical."""
HERE = "# <- here"
"""Ends the lines of a bad example where the rule must find something."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule."""

    name: str
    """Names it in output, options and comments."""
    title: str
    """What the mistake is, in a few words."""
    severity: Severity = Severity.ERROR
    why: str
    """What comes of it."""
    instead: str
    """What to write instead."""
    words: tuple[tuple[str, ...], ...]
    """A file can break the rule only if its text, in lower case, has a word of each group."""
    check: Callable[[Module], Iterable[Hit]]
    bad: tuple[str, ...]
    good: tuple[str, ...]

    def may_apply_to(self, content: str) -> bool:
        """Return whether a text, in lower case, may break the rule; quick, before it is parsed."""
        return all(any(word in content for word in group) for group in self.words)


def mended(example: str, wrong: str, right: str) -> str:
    """Return a bad example as it is right, with one piece of it in other words."""
    return example.replace(wrong, right).replace(f"  {HERE}", "")
