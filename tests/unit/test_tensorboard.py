"""The trials for TensorBoard, read back with TensorBoard's own reader."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from types import ModuleType
from typing import Any

import pytest

from autotune.errors import MissingPackage, OutputError
from autotune.events import Event, Observer, Planned, nobody
from autotune.options import SearchOptions
from autotune.result import Result
from autotune.search.request import TuningRequest
from autotune.search.tune import tune
from autotune.tensorboard import FIRST, RATE, RATIO, board_for
from autotune.testing import FakeEngine
from autotune.workload import Factory, Workload

pytest.importorskip("tensorboard")
pytest.importorskip("tensorboardX")


def events(path: Path) -> Iterator[Any]:
    """The events of a file; a record is a length, its check, the event, and its check."""
    kind = pytest.importorskip("tensorboard.compat.proto.event_pb2").Event
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        yield kind.FromString(data[12 : 12 + length])
        data = data[16 + length :]


def runs_of(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_dir())


def search(place: Path, board: Observer) -> Result:
    factory = Factory(name="model_fn", module="digits")
    workload = Workload(model=factory, dataset=factory)
    options = SearchOptions(max_trials=6, diagnose=False)
    request = TuningRequest(workload=workload, space="quick", out=place, options=options)
    return tune(request, FakeEngine(lambda c: 1000.0 * c.replicas), board)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let TensorBoard read without TensorFlow, whose import takes seconds and starts a process."""
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", ModuleType("notf"))


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
    runs = runs_of(folder)
    assert len(runs) > 3
    for run in runs:
        (file,) = run.iterdir()
        tags = [value.tag for event in events(file) for value in event.summary.value]
        assert tags[0] == "_hparams_/session_start_info"
        assert tags[-1] == "_hparams_/session_end_info"
        assert "reason/text_summary" in tags
        # Drawn over the trials, so that one does not hide the other.
        steps = [event.step for event in events(file) for v in event.summary.value if v.tag == RATE]
        assert steps == [int(run.name[:3])]


def test_the_settings_are_those_of_the_trial(folder: Path) -> None:
    """Numbers are numbers, and what may be `auto` is text in every run."""
    metadata = pytest.importorskip("tensorboard.plugins.hparams.metadata")
    (file,) = runs_of(folder)[0].iterdir()
    value = next(v for e in events(file) for v in e.summary.value if "session_start" in v.tag)
    found = metadata.parse_session_start_info_plugin_data(value.metadata.plugin_data.content)
    assert found.hparams["strategy"].string_value == "one_device"
    assert found.hparams["per_replica_batch"].number_value == 32
    assert found.hparams["prefetch"].string_value == "auto"


def table(logs: Path) -> tuple[list[str], list[str]]:
    """The columns of settings and of figures, as TensorBoard's own backend puts them."""
    events, plugins = "tensorboard.backend.event_processing", "tensorboard.plugins"
    found = pytest.importorskip(f"{events}.plugin_event_multiplexer").EventMultiplexer()
    found.AddRunsFromDirectory(str(logs))
    found.Reload()
    reader = pytest.importorskip(f"{events}.data_provider").MultiplexerDataProvider
    place = pytest.importorskip(f"{plugins}.base_plugin").TBContext(
        data_provider=reader(found, str(logs))
    )
    backend = pytest.importorskip(f"{plugins}.hparams.backend_context").Context(place)
    asked = pytest.importorskip("tensorboard.context").RequestContext()
    experiment = backend.experiment_from_metadata(
        asked,
        "",
        include_metrics=True,
        hparams_run_to_tag_to_content=backend.hparams_metadata(asked, ""),
        data_provider_hparams=None,
    )
    return (
        [each.name for each in experiment.hparam_infos],
        [each.name.tag for each in experiment.metric_infos],
    )


def test_what_matters_comes_first(folder: Path) -> None:
    """The table shows five settings, then throughput and the ratio to one device."""
    settings, figures = table(folder.parent)
    assert set(settings[:5]) == set(FIRST)
    assert {"stage", "prefetch", "xla"} <= set(settings[5:])
    assert figures[:2] == [RATE, RATIO]


def test_a_column_says_what_its_trials_hold(folder: Path) -> None:
    """No trial has a setting without a column, or one of another type than the column's."""
    metadata = pytest.importorskip("tensorboard.plugins.hparams.metadata")
    (file,) = (each for each in folder.iterdir() if each.is_file())
    (value,) = (value for event in events(file) for value in event.summary.value)
    told = metadata.parse_experiment_plugin_data(value.metadata.plugin_data.content)
    kinds = {each.name: each.type for each in told.hparam_infos}
    fields = {1: "string_value", 2: "bool_value", 3: "number_value"}
    for run in runs_of(folder):
        (file,) = run.iterdir()
        value = next(v for e in events(file) for v in e.summary.value if "session_start" in v.tag)
        found = metadata.parse_session_start_info_plugin_data(value.metadata.plugin_data.content)
        assert {n: fields[kinds[n]] for n in kinds} == {
            n: v.WhichOneof("kind") for n, v in found.hparams.items()
        }


def test_the_ratio_is_to_one_device(folder: Path) -> None:
    """The first trial is its own measure, and two replicas are twice as fast."""
    found = {}
    for run in runs_of(folder):
        (file,) = run.iterdir()
        values = [value for event in events(file) for value in event.summary.value]
        found[run.name] = next((v.simple_value for v in values if v.tag == RATIO), None)
    assert found["000-one_device"] == 1.0
    assert any(ratio and 1.7 < ratio < 2.3 for name, ratio in found.items() if "mirrored" in name)


def test_without_a_folder_there_is_nobody() -> None:
    """Nothing is started for those who did not ask."""
    with board_for(None) as board:
        assert board is nobody


def test_a_missing_package_is_told_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    monkeypatch.setattr("autotune.extras.find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r"pip install '\.\[tensorboard\]'"):
        board_for(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in its place is told before the search."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        board_for(tmp_path / "file" / "board")


def test_a_folder_that_goes_away_costs_nothing_else(tmp_path: Path) -> None:
    """The search goes on without it."""
    with board_for(tmp_path / "board") as board:

        def tell(event: Event) -> None:
            board(event)
            if isinstance(event, Planned):
                rmtree(tmp_path / "board")
                (tmp_path / "board").touch()

        assert search(tmp_path / "out", tell).trials
