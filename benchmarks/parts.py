"""Figures that are measured in parts: rows in a file, each kept as it is done."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from autotune.base import Value


class Part(Value):
    """The row of a workload of which everything is done."""

    commit: str
    workload: str


R = TypeVar("R", bound=Value)
P = TypeVar("P", bound=Part)


def read_rows(path: Path, kind: type[R]) -> list[R]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [*map(kind.model_validate_json, lines)]


def add_rows(path: Path, *rows: Value) -> None:
    """Keep rows beside the others: at once, so that all of them are there or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{row.model_dump_json()}\n" for row in rows))


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

    Begin none after so many minutes.
    """
    ends = time.monotonic() + 60 * minutes
    found = [row for row in read_rows(path, kind) if row.commit == commit]
    known = {row.workload for row in found}
    for name in workloads:
        if name not in known and time.monotonic() < ends:
            found.append(make(name))
            add_rows(path, found[-1])
            print(found[-1], flush=True)
    return found
