"""A project's folder as one archive: what is sent to a service that runs it."""

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from autotune.errors import UsageError, in_words
from autotune.text import plural, size

IGNORE = ".autotuneignore"
"""File of the folder that names what is left out, in the words of .gitignore."""
USUAL = (
    *(".git/", ".hg/", ".svn/", "__pycache__/", "*.py[co]", ".venv/", "venv/", "node_modules/"),
    *(".ipynb_checkpoints/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".tox/"),
    *("autotune-out/", "autotune-service/", ".env"),
)
"""What is left out of every folder."""
MOST_BYTES, MOST_FILES = 64 * 2**20, 10_000
"""Bounds of a service by default."""
_GIT = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")


class Packed(NamedTuple):
    """A folder's files as a gzipped tar, the same bytes for the same files."""

    digest: str
    """SHA-256 of the archive."""
    archive: bytes
    summary: str
    """Such as `4 files, 3 KiB; the largest is data.bin (2 KiB)`."""


def packed(folder: Path, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> Packed:
    """Pack the files that git tracks or would track; without git all but the usual caches.

    A link is packed as the file that it leads to, within the folder.

    Raises:
        UsageError: There are too many files, they are too large, or one cannot be read.
    """
    sizes: dict[Path, int] = {}
    for each in sorted(_chosen(folder)):
        try:
            if (folder / each).is_file():
                _check_within(folder, each)
                sizes[each] = (folder / each).stat().st_size
        except OSError as exc:
            raise _unreadable(each, exc) from exc
    if not sizes:
        raise UsageError(f"There is no file in {folder}.", "Run this in the program's folder.")
    _check(sizes, most_bytes, most_files)
    archive = _archive(folder, sizes)
    largest = max(sizes, key=sizes.__getitem__)
    return Packed(
        hashlib.sha256(archive).hexdigest(),
        archive,
        f"{plural(len(sizes), 'file')}, {size(sum(sizes.values()))}; the largest is {largest} "
        f"({size(sizes[largest])})",
    )


def _chosen(folder: Path) -> Iterator[Path]:
    lines = [*USUAL]
    if (folder / IGNORE).is_file():
        lines += (folder / IGNORE).read_text("utf-8").splitlines()
    left_out = GitIgnoreSpec.from_lines(lines)
    for each in _tracked(folder) or _walked(folder, left_out):
        if not left_out.match_file(each):
            yield Path(each)


def _tracked(folder: Path) -> list[str]:
    """Return what git tracks or would track there; nothing where there is no git."""
    top = folder.resolve()
    if not any((each / ".git").exists() for each in (top, *top.parents)):
        return []
    try:
        found = subprocess.run(_GIT, cwd=folder, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [os.fsdecode(each) for each in found.split(b"\0") if each]


def _walked(folder: Path, left_out: GitIgnoreSpec) -> Iterator[str]:
    for where, folders, files in os.walk(folder):
        here = Path(where).relative_to(folder)
        folders[:] = [f for f in folders if not left_out.match_file(f"{(here / f).as_posix()}/")]
        yield from ((here / each).as_posix() for each in files)


def _check_within(folder: Path, file: Path) -> None:
    if not (folder / file).resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            f"{file} leads out of the folder {folder}.", f"Name it in {IGNORE}, or copy the file."
        )


def _check(sizes: dict[Path, int], most_bytes: int, most_files: int) -> None:
    total = sum(sizes.values())
    if total <= most_bytes and len(sizes) <= most_files:
        return
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:3]
    named = ", ".join(f"{each} ({size(sizes[each])})" for each in largest)
    raise UsageError(
        f"The folder has {plural(len(sizes), 'file')} of {size(total)}; "
        f"{plural(most_files, 'file')} of {size(most_bytes)} may be sent. The largest: {named}.",
        f"Name data and caches in {IGNORE}.",
    )


def _archive(folder: Path, files: dict[Path, int]) -> bytes:
    made = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=made, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for each in files:
            try:
                content = (folder / each).read_bytes()
                executable = os.access(folder / each, os.X_OK)
            except OSError as exc:
                raise _unreadable(each, exc) from exc
            entry = tarfile.TarInfo(each.as_posix())
            entry.size, entry.mode = len(content), 0o755 if executable else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _unreadable(file: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{file} cannot be read: {in_words(error)}.", f"Mend this, or name it in {IGNORE}."
    )
