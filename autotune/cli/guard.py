"""Turns every error into a message and an exit code, in one place."""

from __future__ import annotations

import os
import traceback
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from autotune.cli.consoles import notices
from autotune.errors import AutotuneError, Interrupted

DEBUG = "AUTOTUNE_DEBUG"
"""With this variable set, an error of autotune's own shows where it comes from."""


class GuardedGroup(TyperGroup):
    """Runs a command; no error leaves it but those that typer shows by itself."""

    def invoke(self, ctx: typer.Context) -> Any:
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except AutotuneError as error:
            _say(error.cause, error.next_step)
            code = error.exit_code
        except KeyboardInterrupt:
            _say("Interrupted before anything was measured.", "")
            code = Interrupted.exit_code
        except (typer.Exit, typer.Abort, OSError):
            # Typer knows them; of its own errors ClickException is no public name.
            raise
        raise typer.Exit(code)
