"""`autotune doctor`: what is wrong with this code, and what of it can be edited safely?"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from autotune.cli import options as take
from autotune.cli.console import log, show, write_out
from autotune.errors import CodeError, OutputError, UsageError, in_words
from autotune.text import plural

if TYPE_CHECKING:
    from autotune.doctor.report import Report
    from autotune.doctor.source import Edit
    from autotune.project import Settings

EXIT_CODES = (
    "Exit codes: 0 no findings, 1 findings, 2 usage error or unreadable file, 130 interrupted."
)
FOUND = 1
"""Exit code when something was found."""


Format = Literal["text", "json", "github"]
_rules = partial(typer.Option, metavar="RULE,...", show_default=False)


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
    output_format: Annotated[
        Format, typer.Option(metavar="NAME", help="Format of the findings.")
    ] = "text",
    select: Annotated[
        list[str] | None,
        _rules(help="Comma-separated rules to enable; may be repeated. Default: all."),
    ] = None,
    ignore: Annotated[
        list[str] | None, _rules(help="Comma-separated rules to disable; may be repeated.")
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
    diff: Annotated[bool, typer.Option("--diff", help="Show what --fix would edit.")] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 despite findings.")
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="List all rules and exit.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Explain a rule and exit."),
    ] = None,
) -> None:
    """Check code for mistakes of distributed TensorFlow, without running it."""
    if rules:
        from autotune.doctor.report import rule_list

        return show(rule_list())
    if explain is not None:
        from autotune.doctor.report import explained
        from autotune.doctor.rules import find

        return show(explained(find(explain)))
    if not files:
        raise UsageError("There is nothing to check.", "Pass files or folders.")
    return _check_code(
        files,
        _settings(select or (), ignore or (), target_version),
        "json" if json else output_format,
        edit="diff" if diff else "fix" if fix else None,
        exit_zero=exit_zero,
    )


def _settings(select: Iterable[str], ignore: Iterable[str], target: str | None) -> Settings:
    from autotune.options import names
    from autotune.project import settings_of, version_of

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


def _check_code(
    paths: Sequence[Path],
    settings: Settings,
    output_format: Format,
    *,
    edit: Literal["fix", "diff"] | None,
    exit_zero: bool,
) -> None:
    from autotune.doctor.check import check_paths
    from autotune.doctor.rules import choose
    from autotune.doctor.source import difference

    chosen = choose(settings.select, settings.ignore)
    check = partial(check_paths, paths, chosen, settings.target_version, settings.exclude)
    report = check()
    edits: defaultdict[Path, list[Edit]] = defaultdict(list)
    for each in report.findings if edit else ():
        if each.edit is not None:
            edits[Path(each.place.file)].append(each.edit)
    if edit == "fix" and edits:
        _edit(edits)
        report = check()
    if edit == "diff":
        for path, of_file in edits.items():
            write_out(difference(path, of_file))
    elif report.complete or report.findings or output_format != "text":
        _show(report, output_format)
    for trouble in report.troubles:
        log(f"{trouble.level.capitalize()}: {trouble.text}")
    if not report.complete:
        raise typer.Exit(CodeError.exit_code)
    if (edits if edit == "diff" else report.findings) and not exit_zero:
        raise typer.Exit(FOUND)


def _show(report: Report, output_format: Format) -> None:
    from autotune.doctor import report as shown

    documents = {"json": shown.json_document, "github": shown.github_annotations}
    if output_format in documents:
        write_out(documents[output_format](report))
    elif sys.stdout.isatty():
        show(shown.report_text(report))
    else:
        write_out(shown.report_text(report).plain)


def _edit(edits: Mapping[Path, list[Edit]]) -> None:
    from autotune.doctor.source import edit_file

    for path, of_file in edits.items():
        try:
            edit_file(path, of_file)
        except OSError as exc:
            raise OutputError(f"{path} cannot be written: {in_words(exc)}.") from exc
        log(f"{path}: {plural(len(of_file), 'edit')} made.")
