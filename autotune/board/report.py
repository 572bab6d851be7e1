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

from autotune.board.columns import FIGURES, columns, setting
from autotune.errors import OutputError
from autotune.events import Event, Observer, Planned, TrialEnded, nobody
from autotune.extras import check_installed
from autotune.run.engine import Outcome
from autotune.sentences.reasons import reason_text
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
        self._one_device = 0.0

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
            self._put({"columns": columns(event.plan), "figures": FIGURES})
            for trial in event.kept:
                self._tell(trial)
        elif isinstance(event, TrialEnded):
            self._tell(event.trial)

    def _tell(self, trial: Trial) -> None:
        rate = trial.examples_per_second
        if rate and trial.measured and not trial.configuration.distributed:
            self._one_device = max(self._one_device, rate)
        ratio = rate / self._one_device if rate and self._one_device else None
        self._put(_message(trial, ratio))

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


def _message(trial: Trial, ratio: float | None) -> dict[str, Any]:
    """Return what the writer needs of a trial."""
    batch = trial.configuration.global_batch
    done, points = 0, []
    for window in trial.windows:
        done += window.steps
        points.append((done, window.steps * batch / window.seconds))
    memory = trial.peak_memory / MEBIBYTE if trial.peak_memory else None
    reached = (trial.examples_per_second, ratio, trial.first_step_seconds, memory)
    figures = zip(FIGURES, reached, strict=True)
    return {
        "name": f"{trial.number:03}-{trial.configuration.strategy}",
        "number": trial.number,
        "settings": _settings(trial),
        "succeeded": trial.outcome in (Outcome.MEASURED, Outcome.PRUNED, Outcome.SKIPPED),
        "seconds": trial.wall_seconds,
        "figures": {name: value for name, value in figures if value is not None},
        "windows": points,
        "reason": reason_text(trial.reason),
    }


def _settings(trial: Trial) -> dict[str, Any]:
    named = {name: setting(name, value) for name, value in trial.configuration.values().items()}
    return {**named, "stage": str(trial.stage), "outcome": str(trial.outcome)}
