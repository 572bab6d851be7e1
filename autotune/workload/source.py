"""The text that defines a function which cannot be imported, for the program handed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autotune.value import Value


class Source(Value):
    """Program text that defines a function, as far as Python can find it."""

    text: str
    """Definitions, ready to stand at the top level of a module; empty where none was found."""
    expression: str
    """The name, or the lambda, by which `text` lets the function be called."""
    missing: tuple[str, ...] = ()
    """Global names that the text needs and that cannot be written down, such as a large array."""


def source_of(function: Callable[..., Any]) -> Source:
    """Return the text of a function and of what it needs from its module."""
    raise NotImplementedError
