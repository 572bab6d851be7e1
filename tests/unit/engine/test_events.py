"""Events pass from one process to another through a file."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from autotune.engine.events import EventReader, EventWriter


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
