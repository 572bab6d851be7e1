"""The runs that take a step apart: each is the configuration itself with one thing changed.

They are the experiments that a profiler's reader would make by hand: the same step on a batch that
is held in memory (what is left out is the input), with more steps for each call (the call), with
half of the batch (what does not depend on the batch), on one replica alone (what comes with the
others), and the exchange of the gradients without any training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from autotune.config import Configuration
from autotune.value import Value

MANY_STEPS = 8
"""Steps in a call, against one, to tell what a call takes."""


class Experiment(StrEnum):
    """A run that is compared with the configuration's own."""

    HELD = "held"
    """Every step takes the same batch, held in memory."""
    CALLS = "calls"
    """As `HELD`, with another number of steps for each call."""
    ALONE = "alone"
    """As `HELD`, by one replica that has the machine to itself."""
    HALF = "half"
    """As `HELD`, by one replica alone with half of its batch."""
    EXCHANGE = "exchange"
    """Nothing but the strategy's own work and the exchange of the gradients."""
    LATENCY = "latency"
    """The same with a single number to exchange."""


class Variant(Value):
    """What an experiment runs of the workload itself."""

    configuration: Configuration
    held: bool = True
    """Whether every step takes the same batch, held in memory."""


def experiments(configuration: Configuration) -> tuple[Experiment, ...]:
    """Return the experiments that take a configuration apart, the most telling first."""
    if not configuration.distributed:
        return (Experiment.HELD, Experiment.CALLS, Experiment.HALF)
    first = (Experiment.HELD, Experiment.ALONE, Experiment.EXCHANGE, Experiment.HALF)
    return (*first, Experiment.LATENCY) if configuration.workers > 1 else first


def variant(configuration: Configuration, experiment: Experiment) -> Variant | None:
    """Return what an experiment runs; None where it does not run the workload, or cannot."""
    match experiment:
        case Experiment.HELD:
            return Variant(configuration=configuration)
        case Experiment.CALLS:
            return Variant(
                configuration=_with(configuration, steps_per_execution=_other(configuration))
            )
        case Experiment.ALONE:
            return Variant(configuration=configuration.on_one_device())
        case Experiment.HALF if configuration.per_replica_batch > 1:
            half = configuration.per_replica_batch // 2
            alone = configuration.on_one_device()
            return Variant(configuration=_with(alone, per_replica_batch=half))
    return None


def _other(configuration: Configuration) -> int:
    return MANY_STEPS if configuration.steps_per_execution == 1 else 1


def _with(configuration: Configuration, **values: object) -> Configuration:
    return configuration.model_validate({**configuration.model_dump(), **values})


class Timing(Value):
    """What a step takes, as a mean over runs."""

    seconds: float
    runs: int = 1


class Amount(NamedTuple):
    """Seconds of a step, with their standard deviation."""

    seconds: float
    deviation: float


Sum = Mapping[Timing, float]
"""Timings, each with the factor by which it counts."""


def amount(terms: Sum, noise: float) -> Amount:
    """Return a sum of independent timings.

    Args:
        terms: What is added up.
        noise: Standard deviation of log(rate) between runs.
    """
    parts = [(factor * each.seconds, each.runs) for each, factor in terms.items()]
    deviation = math.hypot(*(noise * seconds / math.sqrt(runs) for seconds, runs in parts))
    return Amount(sum(seconds for seconds, _ in parts), deviation)
