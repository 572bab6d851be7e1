"""The folder and the events of a trial, and what is told to its processes and of their failures."""

import json
import resource
from pathlib import Path

import pytest

from autotune.engine.events import EventReader, EventWriter, TrialFolder, describe, last_lines
from autotune.engine.local import environments_of
from autotune.strategies import Role


def test_the_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert TrialFolder("t").script == tmp_path / "t" / "train.py"


def test_a_folder_is_for_one_trial(tmp_path: Path) -> None:
    """A folder that exists is refused, so that no trial reads the events of another."""
    with pytest.raises(FileExistsError):
        TrialFolder(tmp_path).create()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_half_a_line_waits_for_its_other_half(path: Path) -> None:
    reader = EventReader(path)
    with path.open("wb", buffering=0) as file:
        file.write(b'{"event": "win')
        assert reader.read() == []
        file.write(b'dow", "at": 1.0}\n')
        assert reader.read() == [{"event": "window", "at": 1.0}]


def test_a_disk_that_takes_half_a_line_is_an_error(path: Path) -> None:
    """Whoever reports learns that nobody will read it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = EventWriter(path)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
        with pytest.raises(OSError, match="File too large"):
            writer.write("window", steps=3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert EventReader(path).read() == []


@pytest.mark.parametrize(
    ("allowed", "gpus", "told"),
    [
        (None, (1, 3), "1,3"),
        ("4,5,6,7", (1, 3), "5,7"),
        ("GPU-8932f937, GPU-1f5a2b3c", (1,), "GPU-1f5a2b3c"),
        ("2,3", (), ""),
    ],
)
def test_gpus_are_taken_from_those_that_are_allowed(
    monkeypatch: pytest.MonkeyPatch, allowed: str | None, gpus: tuple[int, ...], told: str
) -> None:
    """TensorFlow counts visible GPUs from 0; a process is told what CUDA calls them."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if allowed:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
    (environment,) = environments_of((Role(gpus=gpus),), ("",))
    assert environment["CUDA_VISIBLE_DEVICES"] == told


def test_gpus_that_nobody_divides_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a machine without GPUs keeps the variable as it is."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (environment,) = environments_of((Role(),), ("",))
    assert "CUDA_VISIBLE_DEVICES" not in environment


def test_the_place_is_the_innermost_of_the_user() -> None:
    """Frames of Python and of libraries are passed over."""
    try:
        json.loads("{")
    except ValueError as exc:
        told = describe(exc)
    assert told["kind"] == "JSONDecodeError"
    assert told["where"].startswith("test_files.py line ")
    assert told["detail"].splitlines()[-1].startswith("json.decoder.JSONDecodeError")


def test_a_syntax_error_is_where_it_is_written() -> None:
    try:
        compile("a b", "/somewhere/program.py", "exec")
    except SyntaxError as exc:
        told = describe(exc)
    assert (told["message"], told["where"]) == ("invalid syntax", "program.py line 1")


def test_last_lines_hold_something() -> None:
    """Empty lines, and what only we understand, are left out."""
    text = "one\n\n  \ntwo\nExtension modules: numpy, and so on\nthree\n"
    assert last_lines(text) == "one\ntwo\nthree"
    assert last_lines(text, 1) == "three"
