"""The record of a run: what its windows say of a longer training."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.plain import Window
from autotune.reason import Outcome
from autotune.search.epochs import lasting
from autotune.stats import UNKNOWN, Epoch, Reading, read, steady_from
from autotune.trial import Stage, Trial


def trial_of(
    number: int,
    stage: Stage,
    configuration: Configuration,
    result: RunResult,
    turn: int | None,
    epoch: Epoch = UNKNOWN,
) -> Trial:
    """Return the record of a run."""
    start = steady_from(result.windows, epoch)
    shown = result.windows[start:] if start is not None else ()
    if result.outcome is Outcome.PRUNED and not shown:
        shown = result.windows[len(result.windows) // 2 :]
    reading = read(shown, epoch) if shown else None
    return Trial(
        **dict(result),
        number=number,
        stage=stage,
        configuration=configuration,
        round=turn,
        examples_per_second=reading and reading.steps_per_second * configuration.global_batch,
        error=reading and reading.error,
        least=_least(result.windows, shown, reading, epoch) if reading else 1.0,
        lengths_error=epoch.lengths.error(sum(each.steps for each in shown)),
        steady_from=start,
    )


def _least(
    windows: Sequence[Window], shown: Sequence[Window], reading: Reading, epoch: Epoch
) -> float:
    """Return the share of a rate that is left if what was not seen is as the input showed."""
    before = windows[: len(windows) - len(shown)]
    lasts = lasting(before, reading.steps_per_second, epoch)
    return min(_with_pause(shown, reading, epoch), lasts)


def _with_pause(shown: Sequence[Window], reading: Reading, epoch: Epoch) -> float:
    """Return the share of a rate that is left if an unseen end costs what the input showed."""
    if any(each.ends for each in shown) or math.isinf(epoch.steps):
        return 1.0
    seconds = epoch.steps / reading.steps_per_second
    return seconds / (seconds + epoch.pause)
