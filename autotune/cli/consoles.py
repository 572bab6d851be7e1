"""The two streams: stdout for what was asked for, stderr for everything else."""

from __future__ import annotations

import typer
from rich.console import Console, RenderableType
from rich.text import Text


def answers() -> Console:
    """Return the console for what was asked for."""
    return Console(highlight=False)


def notices() -> Console:
    """Return the console for progress, notices and errors."""
    return Console(stderr=True, highlight=False)


def put(text: str) -> None:
    """Print a text as a file would hold it: in UTF-8, whatever the terminal's encoding."""
    typer.echo(text.encode(), nl=False)


def show(answer: RenderableType) -> None:
    """Print an answer for people."""
    # Uncropped: a command that is longer than the terminal must stay whole to be copied.
    answers().print(answer, crop=False)


def say(text: str) -> None:
    """Print a notice in one line, however long, so that whoever searches a log finds it."""
    notices().print(Text(text), soft_wrap=True)
