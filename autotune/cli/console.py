"""What a command prints: answers to stdout, everything else to stderr, errors among it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from autotune.disk import is_of_the_disk, trouble
from autotune.errors import AutotuneError, Interrupted

DEBUG = "AUTOTUNE_DEBUG"
"""With this variable set, an error of autotune's own shows where it comes from."""

Parameters = ParamSpec("Parameters")


def notices() -> Console:
    """Return the console for progress, notices and errors."""
    return Console(stderr=True, highlight=False)


def write_out(text: str) -> None:
    """Print a text as a file would hold it: in UTF-8, whatever the terminal's encoding."""
    typer.echo(text.encode(), nl=False)


def show(answer: RenderableType) -> None:
    # Uncropped: a command that is longer than the terminal must stay whole to be copied.
    Console(highlight=False).print(answer, crop=False)


def table(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> RenderableType:
    from rich.table import Table

    made = Table(box=None, padding=(0, 2, 0, 0), header_style="bold dim")
    for each in heads:
        made.add_column(each, overflow="fold")
    for line in lines:
        made.add_row(*map(Text, line))
    return made


def log(text: object) -> None:
    """Print a notice in one line, however long, so that whoever searches a log finds it."""
    notices().print(Text(str(text)), soft_wrap=True)


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return a command that no error leaves except typer's own."""

    @wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter, BrokenPipeError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            found = _known(error)
            log_error(found.cause, found.next_step)
            raise typer.Exit(found.exit_code) from error

    return run


def _known(error: BaseException) -> AutotuneError:
    """Return what is told of an error, which may be a bug."""
    if isinstance(error, AutotuneError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("Interrupted.")
    if isinstance(error, OSError) and is_of_the_disk(error):
        return trouble(error, Path())
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    return AutotuneError(
        f"Internal error: {type(error).__name__}: {error}",
        "This is a bug in autotune. Please report it with the output of the same command with "
        f"{DEBUG}=1.",
    )


def log_error(cause: str, next_step: str = "") -> None:
    """Print what is wrong and, in a second line, what to do about it."""
    # No wrapping: whoever searches a log for a message finds it in one line.
    notices().print(Text.assemble(("Error: ", "bold red"), cause), soft_wrap=True)
    if next_step:
        log(next_step)
