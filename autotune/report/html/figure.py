"""A figure that stands large on a page, with its interval small beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure with its interval and what it says."""

    value: str
    interval: str
    meaning: str


def figure(told: str, meaning: str, unit: str = "") -> Figure:
    """Set a figure apart from its interval.

    Args:
        told: Both, as `words` tells them: `1.42 (1.21 to 1.66)` or `1,425 \N{PLUS-MINUS SIGN}9%`.
        meaning: What it says.
        unit: Put behind the figure.
    """
    value, _, interval = told.partition(" ")
    return Figure(value=f"{value}{unit}", interval=interval.strip("()"), meaning=meaning)
