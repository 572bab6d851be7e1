"""What a rule has found, and what could not be looked at."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from autotune.doctor.edits import Edit


class Severity(StrEnum):
    ERROR = "error"
    """It fails, or it learns wrongly."""
    WARNING = "warning"
    """It is slow, or goes wrong on some machines."""


@dataclass(frozen=True)
class Place:
    """A stretch of a file; lines and columns begin with 1 and count characters."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None
    """In a notebook: which of its code cells, whose lines are then meant."""

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}:{self.column}"


@dataclass(frozen=True)
class Finding:
    rule: str
    severity: Severity
    place: Place
    sentence: str
    edit: Edit | None = None
    """The remedy, where it is mechanical; files are edited, notebooks are not."""


@dataclass(frozen=True)
class Trouble:
    """A file, or a comment in it, that the check could not make sense of."""

    text: str
    """What is wrong and where, in a sentence or two."""
    unread: bool
    """Whether the file as a whole could not be checked."""

    @property
    def level(self) -> str:
        return "error" if self.unread else "warning"


@dataclass(frozen=True, kw_only=True)
class Report:
    findings: tuple[Finding, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    files: int = 0

    @property
    def complete(self) -> bool:
        return not any(each.unread for each in self.troubles)


def sum_of(reports: Iterable[Report]) -> Report:
    reports = [*reports]
    return Report(
        findings=tuple(each for report in reports for each in report.findings),
        troubles=tuple(each for report in reports for each in report.troubles),
        files=sum(report.files for report in reports),
    )
