"""From which batch, with which network, or up to how many gradients distribution would pay.

A step of b examples takes one device a + c b seconds. P replicas take a + g c b + x for b examples
each: x for what the exchange of the gradients adds, g >= 1 for what they take from each other on
shared cores. They pay where that is less than the step of one device with all P b examples,
a + c P b: from the batch b = x / (c (P - g)) on. With larger batches more of the exchange may hide
behind the computing, so it may pay earlier. On machines of their own g is one, and x is a latency
and the bytes that a ring moves, 2 (P - 1) / P times the gradients (Patarasuk and Yuan, 2009), over
the bandwidth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from autotune.checks.diagnosis import BEYOND, BreakEven
from autotune.checks.experiment import Experiment, Seconds
from autotune.config import Configuration
from autotune.stats import Interval, Noise

DRAWS = 2000
FARTHEST = 8
"""A batch so many times as large as the measured one is the farthest that is reported."""
NEEDED = (Experiment.HELD, Experiment.APART, Experiment.ALONE, Experiment.HALF)

Draws = Mapping[Experiment, np.ndarray]


def break_even(
    configuration: Configuration, seconds: Seconds, *, gradient_bytes: int, noise: Noise
) -> BreakEven | None:
    """Return where a distributed configuration would begin to pay; None if the timings do not tell.

    The bytes of gradients are what a replica gives to be added up in a step, 0 if that is unknown;
    the noise is that between runs, and the intervals follow from it.
    """
    if not {*NEEDED} <= seconds.keys():
        return None
    draws = _draws(seconds, noise)
    farthest = configuration.per_replica_batch * FARTHEST
    batch = _interval(_batch(configuration, draws))
    return BreakEven(
        configuration=configuration,
        batch=batch if batch and batch.value <= farthest else None,
        farthest=farthest,
        bandwidth=_bandwidth(configuration, draws, gradient_bytes),
        gradient_bytes=_gradients(configuration, draws, gradient_bytes),
    )


def _draws(seconds: Seconds, noise: Noise) -> Draws:
    """Return what the timings may truly be."""
    random = np.random.default_rng(0)
    return {
        each: seconds[each] * np.exp(random.standard_t(noise.degrees, DRAWS) * noise.sd)
        for each in (*NEEDED, Experiment.LATENCY)
        if each in seconds
    }


def _per_example(configuration: Configuration, draws: Draws) -> np.ndarray:
    """Return c, which is not positive where a larger batch takes no longer."""
    batch = configuration.per_replica_batch
    return (draws[Experiment.ALONE] - draws[Experiment.HALF]) / (batch - batch // 2)


def _batch(configuration: Configuration, draws: Draws) -> np.ndarray:
    least = _ratio(_added(draws), _saved(configuration, draws))
    return np.where(least > 1.0, least, 1.0)


def _added(draws: Draws) -> np.ndarray:
    """Return x."""
    added: np.ndarray = np.maximum(draws[Experiment.HELD] - draws[Experiment.APART], 0.0)
    return added


def _saved(configuration: Configuration, draws: Draws) -> np.ndarray:
    """Return c (P - g)."""
    batch, each = configuration.per_replica_batch, _per_example(configuration, draws)
    # What the replicas' own examples take beside each other, g c b.
    beside = draws[Experiment.APART] - (draws[Experiment.ALONE] - each * batch)
    crowding = np.maximum(beside / (each * batch), 1.0)
    saved: np.ndarray = each * (configuration.replicas - crowding)
    return saved


def _bandwidth(configuration: Configuration, draws: Draws, size: int) -> Interval | None:
    latency = draws.get(Experiment.LATENCY)
    if latency is None or not size or configuration.replicas_per_worker > 1:
        return None
    replicas, each = configuration.replicas, _per_example(configuration, draws)
    spare = each * configuration.per_replica_batch * (replicas - 1) - latency
    moved = 2 * (replicas - 1) / replicas * size
    return _interval(_ratio(np.full(DRAWS, moved), spare))


def _gradients(configuration: Configuration, draws: Draws, size: int) -> Interval | None:
    """Return up to how many bytes of gradients it pays: what the exchange adds falls with them."""
    latency = draws.get(Experiment.LATENCY)
    if latency is None or not size:
        return None
    spare = _saved(configuration, draws) * configuration.per_replica_batch - latency
    return _interval(_ratio(size * np.maximum(spare, 0.0), _added(draws) - latency))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient of positive numbers; infinite where the lower one is not positive."""
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)


def _interval(draws: np.ndarray) -> Interval | None:
    low, value, high = np.quantile(draws, (0.025, 0.5, 0.975), method="nearest").tolist()
    if not math.isfinite(value):
        return None
    return Interval(low=low, value=value, high=min(high, BEYOND))
