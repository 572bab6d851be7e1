"""`autotune doctor`: what is wrong with this code?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli import options as take
from autotune.cli.code_check import Format, check_code
from autotune.cli.console import show
from autotune.errors import UsageError

if TYPE_CHECKING:
    from autotune.doctor.settings import Settings

EXIT_CODES = (
    "Exit codes: 0 no findings, 1 findings, 2 usage error or unreadable file, 130 interrupted."
)


def doctor(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="Code to check for distributed TensorFlow mistakes.",
            show_default=False,
        ),
    ] = None,
    json: take.Json = False,
    output_format: Annotated[Format, typer.Option(help="Format of the findings.")] = Format.TEXT,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,...",
            help="Comma-separated rules to enable; may be repeated. Default: all.",
            show_default=False,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,...",
            help="Comma-separated rules to disable; may be repeated.",
            show_default=False,
        ),
    ] = None,
    target_version: Annotated[
        str | None,
        typer.Option(
            metavar="X.Y",
            help="TensorFlow version of the code; default: the newest that the project allows.",
            show_default=False,
        ),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Edit files where that is safe.")] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Show what --fix would edit."),
    ] = False,
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit with 0 despite findings."),
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="List all rules and exit.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Explain a rule and exit."),
    ] = None,
) -> None:
    """Check code for mistakes of distributed TensorFlow, without running it."""
    if rules:
        from autotune.doctor.show import rule_list

        return show(rule_list())
    if explain is not None:
        from autotune.doctor.rules import find
        from autotune.doctor.show import explained

        return show(explained(find(explain)))
    if not files:
        raise UsageError("There is nothing to check.", "Pass files or folders.")
    return check_code(
        files,
        _settings(select or (), ignore or (), target_version),
        Format.JSON if json else output_format,
        edit="diff" if diff else "fix" if fix else None,
        exit_zero=exit_zero,
    )


def _settings(select: Iterable[str], ignore: Iterable[str], target: str | None) -> Settings:
    """Return the project's settings, as options of the call change them."""
    from autotune.doctor.settings import settings_of, version_of
    from autotune.options import names

    chosen, left_out = (
        tuple(name for each in given for name in names(each)) for given in (select, ignore)
    )
    settings = settings_of(Path.cwd())
    return replace(
        settings,
        select=chosen or settings.select,
        ignore=(*settings.ignore, *left_out),
        target_version=version_of(target) if target else settings.target_version,
    )
