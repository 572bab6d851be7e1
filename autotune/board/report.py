"""Hands every trial to the process that writes for TensorBoard."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from autotune.config import axes, default_of
from autotune.errors import OutputError
from autotune.extras import check_installed
from autotune.run.engine import Outcome
from autotune.search.events import Event, Observer, Planned, TrialEnded, nobody
from autotune.trial import Trial

WRITER = Path(__file__).with_name("writer.py")
"""Imports nothing of autotune, so that it starts as quickly as TensorBoard's own modules do."""
END_SECONDS = 20.0
MEBIBYTE = 2**20


def board_for(folder: str | Path | None) -> AbstractContextManager[Observer]:
    """Return what writes the trials of a search into a folder; nothing for None.

    Raises:
        MissingPackage: TensorBoard is not installed.
        OutputError: The folder cannot be made.
    """
    if folder is None:
        return nullcontext(nobody)
    check_installed("tensorboard", by="--tensorboard", extra="tensorboard")
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise OutputError(
            f"{folder} cannot be written: {exc.strerror}.", "Choose another --tensorboard."
        ) from exc
    return BoardReport(place)


class BoardReport:
    """Follows a search and has its trials written, a run of TensorBoard each.

    Args:
        folder: TensorBoard's `--logdir`; the search becomes a new folder in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Begin; the process starts once it is known what is searched."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait until all is written."""
        if self._writer is None:
            return
        try:
            self._writer.communicate(timeout=END_SECONDS)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._writer.kill()
            self._writer.wait()

    def __call__(self, event: Event) -> None:
        """Hand on a trial that ended."""
        if isinstance(event, Planned):
            self._start(event)
            for trial in event.kept:
                self._put(_message(trial))
        elif isinstance(event, TrialEnded):
            self._put(_message(event.trial))

    def _start(self, event: Planned) -> None:
        name = re.sub(r"[^\w.-]+", "-", event.plan.workload).strip("-.")
        folder = self._folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
        self._writer = subprocess.Popen(
            [sys.executable, "-P", str(WRITER), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            # Ctrl-C ends the search, which then ends this one.
            process_group=0,
        )

    def _put(self, message: dict[str, Any]) -> None:
        stream = self._writer.stdin if self._writer else None
        if stream is None:
            return
        try:
            stream.write(json.dumps(message) + "\n")
            stream.flush()
        except BrokenPipeError:
            # It has said on stderr why it ended; the search does without it.
            self._writer = None


def _message(trial: Trial) -> dict[str, Any]:
    """Return what the writer needs of a trial."""
    batch = trial.configuration.global_batch
    done, points = 0, []
    for window in trial.windows:
        done += window.steps
        points.append((done, window.steps * batch / window.seconds))
    return {
        "name": f"{trial.number:03}-{trial.configuration.strategy}",
        "settings": _settings(trial),
        "succeeded": trial.outcome in (Outcome.MEASURED, Outcome.PRUNED, Outcome.SKIPPED),
        "seconds": trial.wall_seconds,
        "figures": {name: value for name, value in _figures(trial) if value is not None},
        "windows": points,
        "reason": trial.reason,
    }


def _settings(trial: Trial) -> dict[str, Any]:
    """The axes, in one type each, because a column of TensorBoard holds one type."""
    own = dict(trial.configuration.arguments)
    named = {name: getattr(trial.configuration, name) for name in axes()}
    mixed = {
        name: str(value) if default_of(name) == "auto" else value for name, value in named.items()
    }
    return {**mixed, **own, "stage": str(trial.stage), "outcome": str(trial.outcome)}


def _figures(trial: Trial) -> list[tuple[str, float | None]]:
    return [
        ("examples per second", trial.examples_per_second),
        ("first step (s)", trial.first_step_seconds),
        ("peak memory (MiB)", trial.peak_memory / MEBIBYTE if trial.peak_memory else None),
    ]
