"""Uploaded archives: nothing of a hostile one is written, and a good one comes as it was packed."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from autotune.api.archives import read
from autotune.api.settings import Code
from autotune.packing import packed
from autotune.wire.errors import BadArchive, CodeTooLarge

FEW = Code(files=5, bytes=10_000)
Make = Callable[[Path], None]


def entry(name: str, content: bytes = b"1", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    found = tarfile.TarInfo(name)
    found.size = len(content)
    for key, value in fields.items():
        setattr(found, key, value)
    return found, content


def tar(*entries: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Make:
    def make(file: Path) -> None:
        with tarfile.open(file, mode, format=tarfile.PAX_FORMAT) as made:  # type: ignore[call-overload]
            for each, content in entries:
                made.addfile(each, io.BytesIO(content))

    return make


def zipped(**files: bytes) -> Make:
    def make(file: Path) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            for name, content in files.items():
                made.writestr(name, content)

    return make


def raw(content: bytes) -> Make:
    return lambda file: file.write_bytes(content) and None


def cut(make: Make, share: float = 0.5) -> Make:
    def made(file: Path) -> None:
        make(file)
        file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])

    return made


def linked_zip(file: Path) -> None:
    info = zipfile.ZipInfo("out")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(info, "/etc/passwd")


def lying_zip(file: Path) -> None:
    """Write one whose directory says that the file is short."""
    zipped(a=b"x" * 5000)(file)
    content = bytearray(file.read_bytes())
    at = content.rindex(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    file.write_bytes(content)


def pax_bomb(file: Path) -> None:
    """Write a header that takes a gigabyte of memory to read."""
    head = tarfile.TarInfo("x")
    head.type, head.size = tarfile.XHDTYPE, 1 << 30
    with gzip.open(file, "wb") as made:
        made.write(head.tobuf())
        for _ in range(64):
            made.write(bytes(1 << 20))


RANDOM = bytes(range(256)) * 12
HOSTILE: dict[str, Make] = {
    "climbs": tar(entry("../x")),
    "climbs within": tar(entry("a/../../x")),
    "absolute": tar(entry("/tmp/x")),  # noqa: S108 - a hostile name
    "link out": tar(entry("a", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
    "link in": tar(entry("a"), entry("b", b"", type=tarfile.SYMTYPE, linkname="a")),
    "hard link": tar(entry("a", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd")),
    "device": tar(entry("a", b"", type=tarfile.CHRTYPE, devmajor=1, devminor=5)),
    "pipe": tar(entry("a", b"", type=tarfile.FIFOTYPE)),
    "twice": tar(entry("a"), entry("./a")),
    "file and folder": tar(entry("a"), entry("a/b")),
    "folder and file": tar(entry("a/b"), entry("a")),
    "line break": tar(entry("a\nb")),
    "escape": tar(entry("a\x1b]52;c;eA==\x07")),
    "backslash": tar(entry("..\\x")),
    "long name": tar(entry("a" * 300)),
    "deep": tar(entry("a/" * 200 + "b")),
    "nothing": tar(),
    "empty": raw(b""),
    "text": raw(b"import keras\n" * 100),
    "cut": cut(tar(entry("a", RANDOM))),
    "cut tar": cut(tar(entry("a", RANDOM), mode="w"), 0.2),
    "cut zip": cut(zipped(a=RANDOM)),
    "zip link": linked_zip,
    "zip climbs": zipped(**{"../x": b"1"}),
    "zip lies": lying_zip,
    "xz": tar(entry("a"), mode="w:xz"),
}
LARGE: dict[str, Make] = {
    "bomb": tar(entry("a", bytes(50_000_000))),
    "zip bomb": zipped(a=bytes(50_000_000)),
    "files": tar(*(entry(f"{n}", b"") for n in range(6))),
    "zip files": zipped(**{f"{n}": b"" for n in range(6)}),
    "many empty files": zipped(**{f"{n}": b"" for n in range(20_000)}),
    "large header": pax_bomb,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_nothing_of_a_hostile_archive_lands_elsewhere(tmp_path: Path, make: Make) -> None:
    """It is refused with a sentence, and what it may have written lies in its folder."""
    archive, into = tmp_path / "archive", tmp_path / "deep" / "into"
    into.mkdir(parents=True)
    make(archive)
    with pytest.raises(BadArchive) as refused:
        read(archive, FEW)
    assert refused.value.next_step
    assert str(refused.value).isprintable()
    with pytest.raises(BadArchive):
        read(archive, FEW, into)
    assert {each.name for each in tmp_path.rglob("*")} <= {"archive", "deep", "into", "a", "b"}
    assert not any(each.is_symlink() for each in into.rglob("*"))


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
def test_what_is_too_large_is_refused_before_it_is_unpacked(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "archive")
    with pytest.raises(CodeTooLarge, match="more than"):
        read(tmp_path / "archive", FEW)


@pytest.mark.parametrize("mode", ["w", "w:gz", "zip"])
def test_a_folder_comes_as_it_was_packed(tmp_path: Path, mode: str) -> None:
    archive, into = tmp_path / "archive", tmp_path / "into"
    files = {"train.py": b"import keras", "models/a.py": b"", "data/x.bin": RANDOM}
    made = zipped(**files) if mode == "zip" else tar(*map(entry, files, files.values()), mode=mode)
    made(archive)
    into.mkdir()
    assert read(archive, FEW) == read(archive, FEW, into) == (3, len(RANDOM) + 12)
    assert {n: (into / n).read_bytes() for n in files} == files


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 400), byte=st.integers(0, 255), packs=st.sampled_from(["tar", "zip"]))
def test_a_damaged_archive_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, packs: str
) -> None:
    """A byte that is another one never leads to any other error."""
    archive = tmp_path_factory.mktemp("damaged") / "archive"
    (tar(entry("a/b", RANDOM)) if packs == "tar" else zipped(**{"a/b": RANDOM}))(archive)
    content = bytearray(archive.read_bytes())
    content[at % len(content)] = byte
    archive.write_bytes(content)
    with suppress(BadArchive, CodeTooLarge):
        assert read(archive, FEW)[0] == 1


def test_what_the_client_packs_the_service_reads(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    made = packed(tmp_path)
    (tmp_path / "archive").write_bytes(made.archive)
    assert read(tmp_path / "archive", FEW) == (1, 8)
