"""Suggests known names for one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that resemble a name, the most similar first."""
    return get_close_matches(name, [*known])


def hint(name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """Return a sentence that suggests known names, or lists them if none resembles the name.

    Args:
        name: The unknown one.
        known: What it may have been meant as.
        listed: What to list instead of all known names.
    """
    known = [*known]
    close = closest(name, known)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return f"Available: {', '.join(known if listed is None else listed) or 'none'}."
