"""What a shell offers for an option when Tab is pressed.

The names are read from the files, because importing the spaces takes longer than a Tab may.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
FORMATS = (".yaml", ".yml")


def space_names(incomplete: str) -> list[str]:
    """Return the ready-made spaces, and the YAML files of the folder that is being typed."""
    ready = ["auto", *_stems("search_spaces", ".yaml")]
    return [name for name in (*ready, *_files(incomplete)) if name.startswith(incomplete)]


def strategy_names(incomplete: str) -> list[str]:
    """Return the strategies that can follow in a comma-separated list."""
    before, comma, begun = incomplete.rpartition(",")
    taken = set(before.split(","))
    names = [n for n in _stems("strategies", ".py") if not n.startswith("_")]
    return [f"{before}{comma}{n}" for n in names if n.startswith(begun) and n not in taken]


def _stems(folder: str, suffix: str) -> list[str]:
    return sorted(path.stem for path in (PACKAGE / folder).glob(f"*{suffix}"))


def _files(incomplete: str) -> Iterator[str]:
    folder = incomplete.rpartition("/")[0]
    start = f"{folder}/" if folder or incomplete.startswith("/") else ""
    place = Path(start or ".")
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        if path.is_dir() and not path.name.startswith("."):
            yield f"{start}{path.name}/"
        elif path.suffix in FORMATS:
            yield f"{start}{path.name}"
