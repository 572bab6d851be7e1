"""The figures of the service with their goals, as a table and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from autotune.value import Value

HEAD = "| what | measured | goal | |\n| --- | --- | --- | --- |"


class Row(Value):
    """One figure."""

    what: str
    measured: str
    goal: str = ""
    reached: bool | None = None
    """None: there is no goal."""

    def __str__(self) -> str:
        """Return it as a line of the table."""
        word = {None: "", True: "reached", False: "MISSED"}[self.reached]
        return f"| {self.what} | {self.measured} | {self.goal} | {word} |"


class About(Value):
    """Where and with what it was measured."""

    date: str
    machine: str
    database: str
    versions: dict[str, str]


def table(rows: Sequence[Row]) -> str:
    """Return the table as Markdown."""
    return "\n".join([HEAD, *map(str, rows)])


def write_page(about: About, rows: Sequence[Row], path: Path) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*_head(about), table(rows), ""]), encoding="utf-8")


def _head(about: About) -> Iterator[str]:
    yield f"# The service in figures, with {about.database}"
    yield ""
    yield "Written by `make bench-service`; change the benchmark, not this page."
    yield ""
    yield f"- Date: {about.date}"
    yield f"- Machine: {about.machine}"
    yield f"- Database: {about.database}"
    yield f"- Software: {', '.join(f'{name} {v}' for name, v in about.versions.items())}"
    yield ""
    yield (
        "All parts are real processes, and so is whoever calls them, on the same machine. Reading "
        "calls go over eight connections that stay open, those beside many jobs over one; *bare* "
        "is a FastAPI application that does nothing but the same query and hands the rows on, and "
        "of a claim takes the oldest job. Both answer in bursts that take "
        "turns; the share is the median of the turns, with the lowest and the highest."
    )
    yield ""
