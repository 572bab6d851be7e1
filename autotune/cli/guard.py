"""Turns every error of a command into a message and an exit code, in one place."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer
from rich.text import Text

from autotune.cli.consoles import notices
from autotune.errors import AutotuneError, Interrupted

DEBUG = "AUTOTUNE_DEBUG"
"""With this variable set, an error of autotune's own shows where it comes from."""
OWN_ERROR = 1

Parameters = ParamSpec("Parameters")


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return a command that no error leaves except typer's own."""

    @wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter, BrokenPipeError):
            raise
        except AutotuneError as error:
            say_error(error.cause, error.next_step)
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            say_error("Interrupted.")
            raise typer.Exit(Interrupted.exit_code) from error
        except Exception as error:
            _say_bug(error)
            raise typer.Exit(OWN_ERROR) from error

    return run


def say_error(cause: str, next_step: str = "") -> None:
    """Print what is wrong and, in a second line, what to do about it."""
    # No wrapping: whoever searches a log for a message finds it in one line.
    notices().print(Text.assemble(("Error: ", "bold red"), cause), soft_wrap=True)
    if next_step:
        notices().print(Text(next_step), soft_wrap=True)


def _say_bug(error: Exception) -> None:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    say_error(
        f"Internal error: {type(error).__name__}: {error}",
        "This is a bug in autotune. Please report it with the output of the same command with "
        f"{DEBUG}=1.",
    )
