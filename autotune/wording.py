"""Small words around figures, written in one way everywhere."""

from __future__ import annotations

from typing import Protocol


class Range(Protocol):
    """A figure with its interval."""

    @property
    def low(self) -> float:
        """Lower end."""
        ...

    @property
    def value(self) -> float:
        """The figure."""
        ...

    @property
    def high(self) -> float:
        """Upper end."""
        ...


def plural(count: int, noun: str) -> str:
    """Return a number with its noun: `1 trial`, `2,000 trials`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def times(ratio: Range) -> str:
    """Return a ratio with its interval: `1.34 times (1.21 to 1.48)`."""
    return f"{ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})"


def capital(text: str) -> str:
    """Return a text with a capital at its start."""
    return text[:1].upper() + text[1:]
