"""Checks code for `autotune doctor FILE...`, shows what is found, and edits what is safe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from autotune.cli.console import put, say, show
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


@dataclass(frozen=True, kw_only=True)
class CodeCheck:
    """One check."""

    settings: Settings
    output_format: Format
    edit: Literal["fix", "diff"] | None
    """Whether files are edited, or only shown as they would be."""
    exit_zero: bool

    def run(self, paths: Sequence[Path]) -> None:
        """Check files and folders.

        Raises:
            Exit: With the code that tells the outcome, if that is not 0.
        """
        report = self._check(paths)
        edits = _edits_of(report) if self.edit else {}
        if self.edit == "fix" and edits:
            _edit(edits)
            report = self._check(paths)
        if self.edit == "diff":
            _show_difference(edits)
        else:
            self._show(report)
        for each in report.troubles:
            say(f"{'Error' if each.unread else 'Warning'}: {each.text}")
        if not report.complete:
            raise typer.Exit(CodeError.exit_code)
        if (edits if self.edit == "diff" else report.findings) and not self.exit_zero:
            raise typer.Exit(FOUND)

    def _check(self, paths: Sequence[Path]) -> Report:
        from autotune.doctor.check import check_paths
        from autotune.doctor.rules import choose

        chosen = choose(self.settings.select, self.settings.ignore)
        return check_paths(paths, chosen, self.settings.target_version, self.settings.exclude)

    def _show(self, report: Report) -> None:
        from autotune.doctor import show as shown

        documents = {
            Format.JSON: shown.json_document,
            Format.GITHUB: shown.github_annotations,
            Format.SARIF: shown.sarif_document,
        }
        if self.output_format in documents:
            put(documents[self.output_format](report))
        elif sys.stdout.isatty():
            show(shown.terminal_text(report))
        else:
            put(shown.plain_text(report))


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
        say(f"{path}: {len(of_file)} edit{'' if len(of_file) == 1 else 's'} made.")


def _show_difference(edits: dict[Path, list[Edit]]) -> None:
    from autotune.doctor.edits import difference

    for path, of_file in edits.items():
        put(difference(path, of_file))
