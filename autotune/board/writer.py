"""Writes trials for TensorBoard: a program of its own that reads a line of JSON for each.

TensorBoard's own modules make the records. They go into plain files, because its `EventFileWriter`
would import TensorFlow.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# Before the first trial ends, while nothing is timed; and a reason to fail is told at once.
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2, summary_v2
from tensorboard.plugins.text import summary_v2 as text_summary
from tensorboard.summary.writer.record_writer import RecordWriter

BY_WINDOW = "by window/examples per second"
TYPES = {
    "str": api_pb2.DATA_TYPE_STRING,
    "float": api_pb2.DATA_TYPE_FLOAT64,
    "bool": api_pb2.DATA_TYPE_BOOL,
}
Trial = Mapping[str, Any]
"""What `report.py` says of one."""


def main(folder: Path, lines: Iterable[str]) -> None:
    """Write how the table looks, then a run for each trial, which is a folder of its own.

    Args:
        folder: Of the search.
        lines: The columns, then a trial each.
    """
    for number, line in enumerate(lines):
        told = json.loads(line)
        if number == 0:
            _write(folder, [_table(told)])
        else:
            _write(folder / told["name"], list(_events(told)))


def _table(told: Mapping[str, Any]) -> Any:
    """Return the event from which TensorBoard takes the columns instead of guessing them."""
    settings = [_setting(each) for each in told["columns"]]
    figures = [
        api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag), description=description)
        for tag, description in told["figures"].items()
    ]
    experiment = api_pb2.Experiment(hparam_infos=settings, metric_infos=figures)
    data = plugin_data_pb2.HParamsPluginData(experiment=experiment)
    return Event(wall_time=time.time(), summary=_plugin(metadata.EXPERIMENT_TAG, data))


def _setting(column: Mapping[str, Any]) -> Any:
    info = api_pb2.HParamInfo(
        name=column["name"], type=TYPES[column["kind"]], differs=column["first"]
    )
    if column["choices"]:
        info.domain_discrete.extend(column["choices"])
    return info


def _events(trial: Trial) -> Iterator[Any]:
    """Yield settings, figures, and how it ended, each at its time."""
    ended = time.time()
    began = ended - trial["seconds"]
    yield Event(wall_time=began, file_version="brain.Event:2")
    start = summary_v2.hparams_pb(trial["settings"], trial["name"], began)
    yield Event(wall_time=began, summary=start)
    for step, rate in trial["windows"]:
        yield _scalar(BY_WINDOW, rate, step, ended)
    for name, value in trial["figures"].items():
        yield _scalar(name, value, trial["number"], ended)
    yield Event(wall_time=ended, summary=text_summary.text_pb("reason", trial["reason"]))
    yield Event(wall_time=ended, summary=_end(trial, ended))


def _scalar(tag: str, value: float, step: int, when: float) -> Any:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
    return Event(wall_time=when, step=step, summary=summary)


def _end(trial: Trial, when: float) -> Any:
    status = api_pb2.STATUS_SUCCESS if trial["succeeded"] else api_pb2.STATUS_FAILURE
    info = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=when)
    data = plugin_data_pb2.HParamsPluginData(session_end_info=info)
    return _plugin(metadata.SESSION_END_INFO_TAG, data)


def _plugin(tag: str, data: Any) -> Any:
    kind = metadata.create_summary_metadata(data)
    value = Summary.Value(tag=tag, metadata=kind, tensor=metadata.NULL_TENSOR)
    return Summary(value=[value])


def _write(folder: Path, events: Iterable[Any]) -> None:
    folder.mkdir(parents=True)
    with (folder / f"events.out.tfevents.{time.time():.0f}").open("wb") as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.stdin)
