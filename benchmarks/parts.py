"""Figures that are measured in parts: a row for each workload, kept as it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from autotune.value import Value


class Part(Value):
    """The row of a workload of which everything is done."""

    commit: str
    workload: str


P = TypeVar("P", bound=Part)


def read_rows(path: Path, kind: type[P], commit: str) -> list[P]:
    """Return the rows of a commit."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [row for row in map(kind.model_validate_json, lines) if row.commit == commit]


def add_row(path: Path, row: Part) -> None:
    """Keep a row beside the others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(row.model_dump_json() + "\n")


def run_missing(
    path: Path,
    kind: type[P],
    commit: str,
    workloads: Iterable[str],
    make: Callable[[str], P],
    *,
    minutes: float,
) -> list[P]:
    """Run the workloads that have no row at a commit, print each row, and return all of them.

    Args:
        path: Where they are kept.
        kind: Of the rows.
        commit: What another one has measured is measured again.
        workloads: By name.
        make: Returns the row of one.
        minutes: After which none is begun.
    """
    ends = time.monotonic() + 60 * minutes
    known = {row.workload for row in read_rows(path, kind, commit)}
    for name in workloads:
        if name not in known and time.monotonic() < ends:
            row = make(name)
            add_row(path, row)
            print(row, flush=True)
    return read_rows(path, kind, commit)
