"""How much memory the recommendation takes, and the largest batch that would fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import linear_regression

from autotune.engine.memory import SHARE
from autotune.result.data import ResultData
from autotune.text import size

ALIKE = ("strategy", "workers", "servers", "replicas_per_worker", "cache", "precision")
"""Axes in which configurations have to agree for their memory to differ by the batch alone."""
LEAST_GROWTH = 0.1
"""Share of the peak that the batches have to explain: a smaller one says nothing of larger ones."""


def memory_lines(result: ResultData) -> Iterator[str]:
    """Yield the peak of the recommendation, and the batch that the memory would hold."""
    peaks, whole = _peaks(result), result.machine.memory
    used = peaks.get(result.config.per_replica_batch)
    # What a GPU holds is none of its process's resident memory.
    if not used or result.machine.gpus:
        return
    yield f"The processes held {size(used)} at their peak, {used / whole:.0%} of the memory."
    if most := largest_batch(peaks, SHARE * whole):
        yield (
            f"By the peaks at batches of {min(peaks):,} to {max(peaks):,}, one of about {most:,} "
            f"for each replica would take {SHARE:.0%} of the memory."
        )


def _peaks(result: ResultData) -> Mapping[int, float]:
    """Return the largest peak by batch, of those that are like the recommended one otherwise."""
    found: dict[int, float] = defaultdict(float)
    mine = result.config.values()
    for trial in result.trials:
        theirs = trial.configuration.values()
        if trial.measured and all(theirs.get(name) == mine.get(name) for name in ALIKE):
            batch = trial.configuration.per_replica_batch
            found[batch] = max(found[batch], trial.peak_memory)
    return found


def largest_batch(peaks: Mapping[int, float], limit: float) -> int | None:
    """Return the batch whose peak would reach a limit, by a line through the peaks in bytes.

    None where there are too few batches, or they hardly differ in their peaks.
    """
    if len(peaks) < 2:
        return None
    slope, start = linear_regression([*peaks], [*peaks.values()])
    if slope * (max(peaks) - min(peaks)) < LEAST_GROWTH * max(peaks.values()):
        return None
    return int((limit - start) / slope)
