"""Which files are meant by the paths on a command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from autotune.lint.text import NOTEBOOK

_SUFFIXES = {".py", NOTEBOOK}
_SKIPPED = {"__pycache__", "node_modules", "venv", "site-packages", "__pypackages__"}


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files themselves, and the Python files and notebooks of folders.

    Hidden folders and those of virtual environments are left out unless they are named.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in _walk(path) if path.is_dir() else [path]:
            if file not in seen:
                seen.add(file)
                yield file


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(each for each in folders if not _is_skipped(here, each))
        yield from (here / each for each in sorted(names) if Path(each).suffix in _SUFFIXES)


def _is_skipped(place: Path, name: str) -> bool:
    hidden = name.startswith(".") or name in _SKIPPED
    return hidden or (place / name / "pyvenv.cfg").is_file()
