"""The trials for TensorBoard, read back with TensorBoard's own reader."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autotune.board import BoardReport, board_for
from autotune.errors import MissingPackage, OutputError
from autotune.recommendation import Recommendation
from autotune.search.events import Event, Observer, Planned, nobody
from autotune.search.request import TuningRequest
from autotune.search.tune import tune
from autotune.testing import FakeEngine
from autotune.workload import Factory, Workload

pytest.importorskip("tensorboard")


def events(path: Path) -> Iterator[Any]:
    """The events of a file; a record is a length, its check, the event, and its check."""
    kind = pytest.importorskip("tensorboard.compat.proto.event_pb2").Event
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        yield kind.FromString(data[12 : 12 + length])
        data = data[16 + length :]


def search(place: Path, board: Observer) -> Recommendation:
    factory = Factory(name="model_fn", module="digits")
    workload = Workload(model=factory, dataset=factory)
    request = TuningRequest(workload=workload, space="quick", out=place)
    return tune(request, FakeEngine(lambda c: 1000.0 * c.replicas), board)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a whole search leaves for TensorBoard."""
    place = tmp_path_factory.mktemp("board")
    with board_for(place / "tensorboard") as board:
        search(place / "out", board)
    (found,) = (place / "tensorboard").iterdir()
    return found


def test_every_trial_is_a_run(folder: Path) -> None:
    """A run has the settings, the figures, one for each window, and how it ended."""
    runs = sorted(folder.iterdir())
    assert len(runs) > 3
    for run in runs:
        (file,) = run.iterdir()
        tags = [value.tag for event in events(file) for value in event.summary.value]
        assert tags[0] == "_hparams_/session_start_info"
        assert tags[-1] == "_hparams_/session_end_info"
        assert "examples per second" in tags
        assert "reason" in tags


def test_the_settings_are_those_of_the_trial(folder: Path) -> None:
    """Numbers are numbers, and what may be `auto` is text in every run."""
    metadata = pytest.importorskip("tensorboard.plugins.hparams.metadata")
    (file,) = next(iter(sorted(folder.iterdir()))).iterdir()
    value = next(v for e in events(file) for v in e.summary.value if "session_start" in v.tag)
    found = metadata.parse_session_start_info_plugin_data(value.metadata.plugin_data.content)
    assert found.hparams["strategy"].string_value == "one_device"
    assert found.hparams["per_replica_batch"].number_value == 32
    assert found.hparams["prefetch"].string_value == "auto"


def test_without_a_folder_there_is_nobody() -> None:
    """Nothing is started for those who did not ask."""
    with board_for(None) as board:
        assert board is nobody


def test_a_missing_package_is_told_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    monkeypatch.setattr("autotune.extras.find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r"pip install 'autotune\[tensorboard\]'"):
        board_for(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in its place is told before the search."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        board_for(tmp_path / "file" / "board")


def test_a_writer_that_dies_costs_nothing_else(tmp_path: Path) -> None:
    """The search goes on without it."""
    with BoardReport(tmp_path / "board") as board:

        def tell(event: Event) -> None:
            board(event)
            if isinstance(event, Planned) and board._writer:
                board._writer.kill()
                board._writer.wait()

        assert search(tmp_path / "out", tell).trials


def test_the_search_does_not_import_tensorboard() -> None:
    """Nor TensorFlow: both would take the cores from what is timed."""
    code = (
        "import sys, autotune.board;"
        "sys.exit(bool({'tensorboard', 'tensorflow', 'google.protobuf'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
