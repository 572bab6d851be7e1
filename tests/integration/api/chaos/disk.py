"""A small disk of its own, which can be filled and emptied again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIZE = "512m"
_BALLAST = "ballast"


class Disk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / _BALLAST).open("wb", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(b"x" * 2**20)
        with (self.folder / _BALLAST).open("ab", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(b"x" * 512)

    def empty(self) -> None:
        (self.folder / _BALLAST).unlink(missing_ok=True)


@contextmanager
def own_disk(folder: Path) -> Iterator[Disk | None]:
    """Give a folder that is a small disk; None where the system allows no such thing."""
    folder.mkdir()
    allowed = os.geteuid() == 0 and _called(
        "mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder
    )
    try:
        yield Disk(folder) if allowed else None
    finally:
        if allowed:
            # What still runs there is about to end.
            _called("umount", "--lazy", folder)


def _called(program: str, *arguments: str | Path) -> bool:
    path = shutil.which(program)
    return path is not None and subprocess.run([path, *arguments], check=False).returncode == 0
