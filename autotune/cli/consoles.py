"""The two streams: stdout for what was asked for, stderr for everything else."""

from __future__ import annotations

from rich.console import Console, RenderableType


def answers() -> Console:
    """Return the console for what was asked for."""
    return Console(highlight=False)


def notices() -> Console:
    """Return the console for progress, notices and errors."""
    return Console(stderr=True, highlight=False)


def show(answer: RenderableType) -> None:
    """Print an answer for people."""
    answers().print(answer)
