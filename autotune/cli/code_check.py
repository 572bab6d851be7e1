"""Checks code for `autotune doctor FILE...`, shows what is found, and edits what is safe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from autotune.cli.console import log, show, write_out
from autotune.errors import CodeError, OutputError, in_words

if TYPE_CHECKING:
    from autotune.doctor.edits import Edit
    from autotune.doctor.report import Report
    from autotune.doctor.settings import Settings

FOUND = 1
"""Exit code when something was found."""


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def check_code(
    paths: Sequence[Path],
    settings: Settings,
    output_format: Format,
    *,
    edit: Literal["fix", "diff"] | None,
    exit_zero: bool,
) -> None:
    """Check files and folders, and edit them or show what would be edited."""
    report = _check(paths, settings)
    edits = _edits_of(report) if edit else {}
    if edit == "fix" and edits:
        _edit(edits)
        report = _check(paths, settings)
    if edit == "diff":
        _show_difference(edits)
    else:
        _show(report, output_format)
    for each in report.troubles:
        log(f"{each.level.capitalize()}: {each.text}")
    if not report.complete:
        raise typer.Exit(CodeError.exit_code)
    if (edits if edit == "diff" else report.findings) and not exit_zero:
        raise typer.Exit(FOUND)


def _check(paths: Sequence[Path], settings: Settings) -> Report:
    from autotune.doctor.check import check_paths
    from autotune.doctor.rules import choose

    chosen = choose(settings.select, settings.ignore)
    return check_paths(paths, chosen, settings.target_version, settings.exclude)


def _show(report: Report, output_format: Format) -> None:
    from autotune.doctor import show as shown

    documents = {
        Format.JSON: shown.json_document,
        Format.GITHUB: shown.github_annotations,
        Format.SARIF: shown.sarif_document,
    }
    if output_format in documents:
        write_out(documents[output_format](report))
    elif sys.stdout.isatty():
        show(shown.report_text(report))
    else:
        write_out(shown.report_text(report).plain)


def _edits_of(report: Report) -> dict[Path, list[Edit]]:
    edits: dict[Path, list[Edit]] = {}
    for each in report.findings:
        if each.edit is not None:
            edits.setdefault(Path(each.place.file), []).append(each.edit)
    return edits


def _edit(edits: dict[Path, list[Edit]]) -> None:
    from autotune.doctor.edits import edit_file

    for path, of_file in edits.items():
        try:
            edit_file(path, of_file)
        except OSError as exc:
            raise OutputError(f"{path} cannot be written: {in_words(exc)}.") from exc
        log(f"{path}: {len(of_file)} edit{'' if len(of_file) == 1 else 's'} made.")


def _show_difference(edits: dict[Path, list[Edit]]) -> None:
    from autotune.doctor.edits import difference

    for path, of_file in edits.items():
        write_out(difference(path, of_file))
