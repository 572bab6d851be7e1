"""The trials for TensorBoard: each a run with its settings, its figures and how it ended.

tensorboardX makes the records without TensorFlow; it is imported where somebody asks for them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from autotune.config import axes, default_of
from autotune.errors import OutputError, in_words
from autotune.events import Event, Observer, Planned, TrialEnded, nobody
from autotune.extras import check_installed
from autotune.plan import Plan
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.strategies import strategies
from autotune.trial import Stage, Trial
from autotune.value import Scalar

FIRST = ("outcome", *(name for name, axis in axes().items() if not axis.short))
"""What tells a trial from the others. Of the settings the table shows five before it is asked, by
name among those that are said to differ."""
RATE, RATIO, BY_WINDOW = "examples per second", "times one device", "by window/examples per second"
FIGURES = (RATE, RATIO, "first step (s)", "peak memory (MiB)")
"""The figures of a trial in the order of the table."""
_DIFFERS = b"\x38\x01"
"""The field 7 of a setting, `differs`, as protobuf writes it: tensorboardX does not know it yet."""
Record = tuple[Any, int, float]
"""A summary with its step and its time."""
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "outcome": tuple(Outcome),
    "stage": tuple(Stage),
    "strategy": tuple(strategies()),
}


def board_for(folder: str | Path | None) -> AbstractContextManager[Observer]:
    """Return what writes the trials of a search into a folder; nothing for None.

    Raises:
        MissingPackage: tensorboardX is not installed.
        OutputError: The folder cannot be made.
    """
    if folder is None:
        return nullcontext(nobody)
    check_installed("tensorboardX", by="--tensorboard", extra="tensorboard")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise OutputError(
            f"{folder} cannot be written: {in_words(exc)}.", "Choose another --tensorboard."
        ) from exc
    return nullcontext(Board(Path(folder)))


class Board:
    """Follows a search and writes its trials, a run of TensorBoard each.

    Args:
        folder: TensorBoard's `--logdir`; the search becomes a new folder in it.
    """

    def __init__(self, folder: Path) -> None:
        from tensorboardX import RecordWriter, summary  # noqa: PLC0415 - as the docstring says
        from tensorboardX.proto import (  # noqa: PLC0415
            api_pb2,
            event_pb2,
            plugin_hparams_pb2,
            summary_pb2,
        )

        self._writer, self._summary, self._event = RecordWriter, summary, event_pb2.Event
        self._api, self._hparams, self._records = api_pb2, plugin_hparams_pb2, summary_pb2
        self._folder = folder
        self._one_device = 0.0
        self._broken = False

    def __call__(self, event: Event) -> None:
        """Write a trial that ended; a search goes on without what cannot be written."""
        if self._broken:
            return
        try:
            if isinstance(event, Planned):
                name = re.sub(r"[^\w.-]+", "-", event.plan.workload).strip("-.")
                self._folder /= f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
                self._write(self._folder, [(self._table(event.plan), 0, time.time())])
                for trial in event.kept:
                    self._tell(trial)
            elif isinstance(event, TrialEnded):
                self._tell(event.trial)
        except OSError:
            self._broken = True

    def _tell(self, trial: Trial) -> None:
        rate = trial.examples_per_second
        if rate and trial.measured and not trial.configuration.distributed:
            self._one_device = max(self._one_device, rate)
        ratio = rate / self._one_device if rate and self._one_device else None
        name = f"{trial.number:03}-{trial.configuration.strategy}"
        self._write(self._folder / name, self._run(trial, ratio))

    def _table(self, plan: Plan) -> Any:
        """Return the columns, which TensorBoard would guess otherwise."""
        own = {axis.name: axis.values[0] for each in plan.strategies for axis in each.axes}
        usual = {name: _setting(name, default_of(name)) for name in axes()}
        columns = {**own, **usual, "stage": "", "outcome": ""}
        tags = [self._api.MetricName(tag=tag) for tag in FIGURES]
        experiment = self._api.Experiment(
            hparam_infos=[self._column(name, value) for name, value in columns.items()],
            metric_infos=[self._api.MetricInfo(name=tag) for tag in tags],
        )
        return self._plugin("experiment", experiment=experiment)

    def _column(self, name: str, value: Scalar) -> Any:
        kinds = {bool: "BOOL", str: "STRING"}
        kind = self._api.DataType.Value(f"DATA_TYPE_{kinds.get(type(value), 'FLOAT64')}")
        info = self._api.HParamInfo(name=name, type=kind)
        info.domain_discrete.extend(_CHOICES.get(name, ()))
        if name in FIRST:
            info.MergeFromString(_DIFFERS)
        return info

    def _run(self, trial: Trial, ratio: float | None) -> Iterator[Record]:
        """Yield settings, figures, and how it ended."""
        ended = time.time()
        values = {n: _setting(n, each) for n, each in trial.configuration.values().items()}
        values |= {"stage": str(trial.stage), "outcome": str(trial.outcome)}
        yield self._summary.hparams(values, {})[1], 0, ended - trial.wall_seconds
        done, batch = 0, trial.configuration.global_batch
        for window in trial.windows:
            done += window.steps
            yield self._scalar(BY_WINDOW, window.steps * batch / window.seconds), done, ended
        memory = trial.peak_memory / 2**20 if trial.peak_memory else None
        reached = (trial.examples_per_second, ratio, trial.first_step_seconds, memory)
        for tag, value in zip(FIGURES, reached, strict=True):
            if value is not None:
                yield self._scalar(tag, value), trial.number, ended
        yield self._summary.text("reason", reason_text(trial.reason)), 0, ended
        well = trial.outcome in (Outcome.MEASURED, Outcome.PRUNED, Outcome.SKIPPED)
        status = self._api.Status.Value("STATUS_SUCCESS" if well else "STATUS_FAILURE")
        end = self._hparams.SessionEndInfo(status=status, end_time_secs=ended)
        yield self._plugin("session_end_info", session_end_info=end), 0, ended

    def _scalar(self, tag: str, value: float) -> Any:
        # Not tensorboardX's own, which puts underscores for spaces.
        return self._records.Summary(
            value=[self._records.Summary.Value(tag=tag, simple_value=value)]
        )

    def _plugin(self, name: str, **content: Any) -> Any:
        data = self._records.SummaryMetadata.PluginData(
            plugin_name="hparams",
            content=self._hparams.HParamsPluginData(**content).SerializeToString(),
        )
        metadata = self._records.SummaryMetadata(plugin_data=data)
        value = self._records.Summary.Value(tag=f"_hparams_/{name}", metadata=metadata)
        return self._records.Summary(value=[value])

    def _write(self, folder: Path, records: Iterable[Record]) -> None:
        folder.mkdir(parents=True)
        writer = self._writer(str(folder / f"events.out.tfevents.{time.time():.0f}"))
        first = self._event(wall_time=time.time(), file_version="brain.Event:2")
        writer.write(first.SerializeToString())
        for summary, step, when in records:
            event = self._event(summary=summary, step=step, wall_time=when)
            writer.write(event.SerializeToString())
        writer.close()


def _setting(name: str, value: Scalar) -> Scalar:
    """Return the value of an axis, in one type each, because a column holds one type."""
    return str(value) if name in axes() and default_of(name) == "auto" else value
