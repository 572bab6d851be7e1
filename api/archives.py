"""Uploaded archives: what is in them, checked before anything of it is written.

An archive is a tar, gzipped or not, or a zip, of regular files and folders. Links are refused, so
that nothing that is unpacked can lead out of its folder.
"""

import errno
import gzip
import io
import mmap
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from autotune.api.settings import Code
from autotune.text import is_line, plural, size
from autotune.wire.errors import BadArchive, CodeTooLarge

LONGEST_NAME, LONGEST_PATH, DEEPEST = 255, 1000, 64
"""Bytes of a name, bytes of a path, and folders within each other."""
CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_ZIPPED = b"PK\x01\x02"
"""Beginning of each entry in a zip's directory."""
_DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, UnicodeError, OverflowError, struct.error),
)
"""Errors of the readers for a file that is no archive, is cut, encrypted or packed otherwise."""


class _Entry(NamedTuple):
    name: str
    size: int = 0
    folder: bool = False
    executable: bool = False
    content: IO[bytes] | None = None
    """None of a folder, and of what is neither."""


def read(archive: Path, limits: Code, into: Path | None = None) -> tuple[int, int]:
    """Return an archive's number of files and their bytes; unpack it into an empty folder.

    Raises:
        BadArchive: It is damaged, or holds what may not be unpacked.
        CodeTooLarge: It holds more than the limits allow.
    """
    seen, folders = set[PurePosixPath](), set[PurePosixPath]()
    total = 0
    try:
        with _entries(archive, limits) as entries:
            for each in entries:
                path = _path(each)
                if path in seen or seen.intersection(path.parents):
                    raise _twice(path)
                if each.folder:
                    folders.add(path)
                    continue
                if path in folders:
                    raise _twice(path)
                seen.add(path)
                folders.update(path.parents)
                total += each.size
                _check(len(seen), total, limits)
                _copy(each, into and into / path)
    except (*_DAMAGED, OSError) as exc:
        # An archive that leads before its own start has an invalid argument (EINVAL).
        if not isinstance(exc, _DAMAGED) and getattr(exc, "errno", None) != errno.EINVAL:
            raise
        why = f"The archive cannot be read ({type(exc).__name__})."
        raise BadArchive(why, "Pack it again.") from exc
    if not seen:
        raise BadArchive("The archive holds no file.", "Pack the folder of the program.")
    return len(seen), total


def _twice(path: PurePosixPath) -> BadArchive:
    return BadArchive(f"The archive has {_shown(path)} twice.", "Pack a folder as it is.")


def _check(files: int, total: int, limits: Code) -> None:
    if files > limits.files:
        raise CodeTooLarge(
            f"The archive has more than {plural(limits.files, 'file')}.",
            "Leave data and caches out, by .autotuneignore.",
        )
    if total > limits.bytes:
        raise CodeTooLarge(
            f"The files of the archive take more than {size(limits.bytes)}.",
            "Leave data out, by .autotuneignore.",
        )


def _path(entry: _Entry) -> PurePosixPath:
    """Return where an entry goes, from the top of the archive."""
    path, name = PurePosixPath(entry.name), entry.name
    if not is_line(name) or "\\" in name or path.is_absolute() or ".." in path.parts:
        raise BadArchive(f"{_shown(path)} leads out of the archive.", "Pack a folder's own files.")
    if not (entry.content or entry.folder):
        raise BadArchive(
            f"{_shown(path)} is neither a file nor a folder.",
            "Pack what a link leads to in its place (tar --dereference).",
        )
    longest = max((len(each.encode()) for each in path.parts), default=0)
    if longest > LONGEST_NAME or len(name.encode()) > LONGEST_PATH or len(path.parts) > DEEPEST:
        raise BadArchive(f"The path {_shown(path)} is too long.", "Shorten it.")
    if not path.parts and not entry.folder:
        raise BadArchive("A file of the archive has no name.", "Pack it again.")
    return path


def _copy(entry: _Entry, target: Path | None) -> None:
    """Read a file to its end, and write it where that is wanted; its size is as declared."""
    left, content = entry.size, entry.content or io.BytesIO()
    with ExitStack() as opened:
        written = None
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            written = opened.enter_context(target.open("xb"))
            target.chmod(0o700 if entry.executable else 0o600)
        while chunk := content.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            if written:
                written.write(chunk)
    if left:
        raise BadArchive(f"{entry.name!r} is not as long as declared.", "Pack it again.")


def _shown(path: PurePosixPath) -> str:
    return ascii(str(path))[:200]


@contextmanager
def _entries(archive: Path, limits: Code) -> Iterator[Iterator[_Entry]]:
    with archive.open("rb") as file:
        begins = file.read(4)
        file.seek(0)
        if begins[:2] == b"PK":
            yield _of_zip(file, limits)
        elif begins[:2] == _GZIP:
            with _unzipped(file, limits) as plain:
                yield _of_tar(plain)
        else:
            yield _of_tar(file)


@contextmanager
def _unzipped(file: IO[bytes], limits: Code) -> Iterator[IO[bytes]]:
    """Give what is gzipped, as far as an archive within the limits may go.

    The headers of a tar are read whole, so they must not be longer than that.
    """
    most = limits.bytes + (limits.files + DEEPEST) * 4 * tarfile.BLOCKSIZE + CHUNK
    with tempfile.TemporaryFile() as plain, gzip.open(file) as source:
        while chunk := source.read(CHUNK):
            plain.write(chunk)
            if plain.tell() > most:
                _check(0, plain.tell(), limits)
        plain.seek(0)
        yield plain


def _of_tar(file: IO[bytes]) -> Iterator[_Entry]:
    with tarfile.open(fileobj=file, mode="r:") as found:
        while each := found.next():
            # A sparse file is one of few bytes that unpacks to many.
            regular = each.isreg() and not each.issparse()
            yield _Entry(
                name=each.name,
                size=each.size,
                folder=each.isdir(),
                executable=bool(each.mode & 0o100),
                content=found.extractfile(each) if regular else None,
            )


def _of_zip(file: IO[bytes], limits: Code) -> Iterator[_Entry]:
    # The directory is read whole: what has far too many entries is refused before.
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as every:
        count, at = 0, every.find(_ZIPPED)
        while at >= 0 and count <= 2 * limits.files:
            count, at = count + 1, every.find(_ZIPPED, at + 1)
    _check(count // 2, 0, limits)
    with zipfile.ZipFile(file) as found:
        for each in found.infolist():
            mode = each.external_attr >> 16
            if each.is_dir() or stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                yield _Entry(name=each.filename, folder=each.is_dir())
                continue
            with found.open(each) as content:
                yield _Entry(
                    name=each.filename,
                    size=each.file_size,
                    executable=bool(mode & 0o100),
                    content=content,
                )
