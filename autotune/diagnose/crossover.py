"""From which batch, or with which network, distribution would pay.

A step of b examples takes one device a + c b seconds. P replicas take a + g c b + x for b examples
each: x for the exchange of the gradients, g >= 1 for what they take from each other on shared
cores. They pay where that is less than the step of one device with all P b examples, a + c P b:
from the batch b = x / (c (P - g)) on. On machines of their own g is one, and x is a latency and
the bytes that a ring moves, 2 (P - 1) / P times the gradients (Patarasuk and Yuan, 2009), over
the bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from autotune.config import Configuration
from autotune.diagnose.diagnosis import BEYOND, BreakEven
from autotune.diagnose.experiment import Experiment, Timing
from autotune.measure import Interval

DRAWS = 2000
FARTHEST = 8
"""A batch so many times as large as the measured one is the farthest that is told."""
NEEDED = (Experiment.HELD, Experiment.ALONE, Experiment.HALF, Experiment.EXCHANGE)

Draws = Mapping[Experiment, np.ndarray]


def break_even(
    configuration: Configuration,
    found: Mapping[Experiment, Timing],
    *,
    gradient_bytes: int,
    noise: float,
) -> BreakEven | None:
    """Return where distribution would begin to pay; None if the experiments do not tell.

    Args:
        configuration: A distributed one.
        found: Seconds of a step in each experiment.
        gradient_bytes: What a replica gives to be added up in a step.
        noise: Standard deviation of log(rate) between runs; the intervals follow from it.
    """
    if any(each not in found for each in NEEDED):
        return None
    draws = _draws(found, noise)
    farthest = configuration.per_replica_batch * FARTHEST
    batch = _interval(_batch(configuration, draws))
    return BreakEven(
        configuration=configuration,
        batch=batch if batch and batch.value <= farthest else None,
        farthest=farthest,
        bandwidth=_bandwidth(configuration, draws, gradient_bytes),
    )


def _draws(found: Mapping[Experiment, Timing], noise: float) -> Draws:
    """Return what the timings may truly be, with the noise of as many runs."""
    random = np.random.default_rng(0)
    return {
        each: timing.seconds * np.exp(random.normal(0, noise / math.sqrt(timing.runs), DRAWS))
        for each, timing in found.items()
    }


def _per_example(configuration: Configuration, draws: Draws) -> np.ndarray:
    """Return c, which is not positive where a larger batch takes no longer."""
    whole = configuration.per_replica_batch
    half = whole // 2
    return (draws[Experiment.ALONE] - draws[Experiment.HALF]) / (whole - half)


def _batch(configuration: Configuration, draws: Draws) -> np.ndarray:
    batch, exchange = configuration.per_replica_batch, draws[Experiment.EXCHANGE]
    each = _per_example(configuration, draws)
    # What the replicas' own examples take beside each other, g c b.
    beside = draws[Experiment.HELD] - exchange - (draws[Experiment.ALONE] - each * batch)
    crowding = np.maximum(beside / (each * batch), 1.0)
    return _ratio(exchange, each * (configuration.replicas - crowding))


def _bandwidth(configuration: Configuration, draws: Draws, size: int) -> Interval | None:
    latency = draws.get(Experiment.LATENCY)
    if latency is None or not size or configuration.replicas_per_worker > 1:
        return None
    replicas, each = configuration.replicas, _per_example(configuration, draws)
    spare = each * configuration.per_replica_batch * (replicas - 1) - latency
    moved = 2 * (replicas - 1) / replicas * size
    return _interval(_ratio(np.full(DRAWS, moved), spare))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient of positive numbers; infinite where the lower one is none."""
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)


def _interval(draws: np.ndarray) -> Interval | None:
    low, value, high = np.quantile(draws, (0.025, 0.5, 0.975), method="nearest").tolist()
    if not math.isfinite(value):
        return None
    return Interval(low=low, value=value, high=min(high, BEYOND))
