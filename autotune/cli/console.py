"""What a command prints: answers to stdout, everything else to stderr, errors among it."""

import os
import re
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from autotune.disk import is_of_the_disk, trouble
from autotune.errors import AutotuneError, Interrupted, UsageError, requirement
from autotune.face import Face, shown_by

_FIRST = re.compile(r"(?:; |(?<=[a-z0-9)`])\. )")
_DEFAULT = re.compile(r"\[default: ([^;\]]+)")
DEBUG = "AUTOTUNE_DEBUG"
"""With this variable set, an error of autotune's own shows where it comes from."""


def notices() -> Console:
    return Console(stderr=True, highlight=False)


def write_out(text: str) -> None:
    """Print a text as a file would hold it: in UTF-8, whatever the terminal's encoding."""
    typer.echo(text.encode(), nl=False)


def show(answer: RenderableType) -> None:
    # Uncropped: a command that is longer than the terminal must stay whole to be copied.
    Console(highlight=False).print(answer, crop=False)


def table(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> RenderableType:
    from autotune.result.terminal import columns

    made = columns(*heads)
    for line in lines:
        made.add_row(*map(Text, line))
    return made


def log(text: object) -> None:
    """Print a notice in one line, however long, so that whoever searches a log finds it."""
    notices().print(Text(str(text)), soft_wrap=True)


class Commands(TyperGroup):
    """The group of all commands, whose errors look alike: ours, and those of typer."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        try:
            with shown_by(Face.COMMAND):
                code = super().main(*args, **{**extra, "standalone_mode": False})
        except Exception as error:
            if not standalone_mode:
                raise
            found = _known(error)
            if found.cause:
                # In one line, as `log` prints.
                said = Text.assemble(("Error: ", "bold red"), found.cause)
                notices().print(said, soft_wrap=True)
                if found.advice:
                    log(found.advice)
            code = found.exit_code
        if standalone_mode:
            sys.exit(code)
        return code

    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, and the options of all of them, each in its group."""
        _write_groups(formatter, _options_by_group(self, ctx))
        groups = defaultdict(list)
        for name, each in self.commands.items():
            panel = getattr(each, "rich_help_panel", "Commands")
            groups[panel].append((name, _first_clause(each.help or "")))
        _write_groups(formatter, groups)

    def invoke(self, ctx: Any) -> Any:
        """Tell of an interruption, which typer passes over in silence."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, typer.Abort) as error:
            raise Interrupted("Interrupted.") from error


class Command(TyperCommand):
    """A command whose help has its options in groups, each in a line or two.

    Its flags show no type, because they take no value.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        return without_types(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_groups(formatter, _options_by_group(self, ctx))


def _options_by_group(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return names and meaning of the arguments and options, by what they are about."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for each in command.get_params(ctx):
        record = each.get_help_record(ctx)
        if record is None:
            continue
        names, meaning = re.sub(r" <[^>]+>$", "", record[0]), record[1]
        argument = each.param_type_name == "argument"
        usual = _DEFAULT.search(meaning)
        text = (each.help or "") if argument else _first_clause(each.help or "")
        group = each.rich_help_panel or ("Arguments" if argument else "Options")
        groups[group].append((names, f"{text} [{usual[1]}]" if usual else text))
    last = {"Options": groups.pop("Options")} if "Options" in groups else {}
    return groups | last


def _first_clause(text: str) -> str:
    """Return what a help says first: the others are for the page of the commands."""
    return _FIRST.split(" ".join(text.split()), maxsplit=1)[0].rstrip(".") + "."


def _write_groups(formatter: Any, groups: Mapping[str, list[tuple[str, str]]]) -> None:
    for title, rows in groups.items():
        with formatter.section(title):
            formatter.write_dl(rows, col_max=28)


def without_types(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return parameters


def _known(error: BaseException) -> AutotuneError:
    if isinstance(error, AutotuneError):
        return error
    if isinstance(error, typer.TyperException):
        return _wrong_call(error)
    if isinstance(error, OSError) and is_of_the_disk(error):
        return trouble(error, Path())
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    return AutotuneError(
        f"Internal error: {type(error).__name__}: {error}",
        "This is a bug in autotune. Please report it with the output of the same command with "
        f"{DEBUG}=1.",
    )


def _wrong_call(error: typer.TyperException) -> UsageError:
    """Return what typer finds wrong; nothing where it has shown the help instead."""
    context, cause = getattr(error, "ctx", None), requirement(error.format_message())
    if context and context.info_name == "run" and cause.startswith("No such option"):
        example = "autotune run train.py --epochs 3, or autotune run DIR -- --epochs 3."
        return UsageError(cause, f"Options of the training stand behind it: {example}")
    return UsageError(cause, f"Help: {context.command_path} --help" if context and cause else "")
