"""`autotune doctor FILE ...`: which mistakes of distributed TensorFlow does this code make?"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autotune.cli.consoles import put, say, show
from autotune.errors import CodeError, UsageError

if TYPE_CHECKING:
    from autotune.lint.report import Report

FOUND = 1
"""Exit code when something was found."""


@dataclass(frozen=True, kw_only=True)
class CodeCheck:
    """A check of code as the user asked for it."""

    paths: tuple[Path, ...]
    select: str | None
    ignore: str | None
    as_json: bool
    as_sarif: bool

    def run(self) -> None:
        """Check, print, and leave with the exit code that tells the outcome."""
        from autotune.lint.check import check_paths
        from autotune.lint.rules import choose
        from autotune.options import names

        if self.as_json and self.as_sarif:
            raise UsageError("--json and --sarif cannot be used together.", "Use one of them.")
        report = check_paths(self.paths, choose(names(self.select), names(self.ignore)))
        self._print(report)
        for each in report.troubles:
            say(f"{'Error' if each.unread else 'Warning'}: {each.text}")
        if not report.complete:
            raise typer.Exit(CodeError.exit_code)
        if report.findings:
            raise typer.Exit(FOUND)

    def _print(self, report: Report) -> None:
        from autotune.lint.show import json_document, plain_text, sarif_document, terminal_text

        if self.as_json:
            put(json_document(report))
        elif self.as_sarif:
            put(sarif_document(report))
        elif sys.stdout.isatty():
            show(terminal_text(report))
        else:
            put(plain_text(report))


def show_rules() -> None:
    """Print what the rules are."""
    from autotune.lint.show import rule_list

    show(rule_list())


def explain(name: str) -> None:
    """Print all that is to be said about a rule.

    Raises:
        UsageError: There is none of that name.
    """
    from autotune.lint.rules import find
    from autotune.lint.show import explained

    show(explained(find(name)))
