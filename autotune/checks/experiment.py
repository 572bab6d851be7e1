"""The runs that take a step apart: each is the configuration itself with one thing changed.

They are the experiments that a profiler's reader would make by hand. What two of them differ by is
what the thing takes that one lacks: the input, the call, the exchange, the other replicas.

Noise multiplies. With errors e of log(seconds), a sum of shares c t / t_0 is off by that of
c t / t_0 (e - e_0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from autotune.config import Configuration
from autotune.stats.intervals import Interval, Noise, t_quantile
from autotune.strategies import strategy
from autotune.value import Value

MANY_STEPS = 8
"""Steps in a call, against one, to tell what a call takes."""


class Experiment(StrEnum):
    """A run of the configuration, or of something that differs from it in one thing."""

    STEP = "step"
    """The configuration itself, as it trains."""
    HELD = "held"
    """Every step takes the same batch, held in memory."""
    CALLS = "calls"
    """As `HELD`, with another number of steps for each call."""
    APART = "apart"
    """As `HELD`, by replicas that each apply their own gradients and exchange nothing."""
    ALONE = "alone"
    """As `HELD`, by one replica that has the machine to itself."""
    HALF = "half"
    """As `HELD`, by one replica alone with half of its batch."""


Seconds = Mapping[Experiment, float]
"""Of a step in each experiment that was made: time may have ended before some."""
Terms = Mapping[Experiment, float]
"""What is added up: experiments, each with the factor by which it counts."""


class Variant(Value):
    """What an experiment runs."""

    configuration: Configuration
    held: bool = True
    """Whether every step takes the same batch, held in memory."""
    exchanges: bool = True
    """Whether its replicas exchange their gradients."""


def telling(configuration: Configuration) -> tuple[Experiment, ...]:
    """Return the experiments without which nobody knows what a step spends its time on."""
    if not configuration.distributed:
        return (Experiment.STEP, Experiment.HELD)
    # Workers that only meet on parameter servers train nothing without them.
    apart = () if strategy(configuration.strategy).asynchronous else (Experiment.APART,)
    return (Experiment.STEP, Experiment.HELD, *apart, Experiment.ALONE)


def further(configuration: Configuration) -> tuple[Experiment, ...]:
    """Return the experiments that tell more, the most telling first."""
    half = (Experiment.HALF,)
    return half if configuration.distributed else (Experiment.CALLS, *half)


def variant(configuration: Configuration, experiment: Experiment) -> Variant | None:
    """Return what an experiment runs; None where there is no such thing."""
    alone, half = configuration.on_one_device(), configuration.per_replica_batch // 2
    match experiment:
        case Experiment.STEP:
            return Variant(configuration=configuration, held=False)
        case Experiment.APART:
            return Variant(configuration=configuration, exchanges=False)
        case Experiment.CALLS:
            steps = MANY_STEPS if configuration.steps_per_execution == 1 else 1
            configuration = configuration.but(steps_per_execution=steps)
        case Experiment.ALONE:
            configuration = alone
        case Experiment.HALF:
            if not half:
                return None
            configuration = alone.but(per_replica_batch=half)
    return Variant(configuration=configuration)


class Timings(NamedTuple):
    """What experiments took, and the noise between runs."""

    seconds: Seconds
    noise: Noise

    def share(self, terms: Terms, of: Experiment = Experiment.STEP) -> Interval | None:
        """Return a sum of timings as a share of one, with its 95 % interval; it may be negative.

        None if something that it takes was not made.
        """
        if not {*terms, of} <= self.seconds.keys():
            return None
        whole = self.seconds[of]
        parts = {each: factor * self.seconds[each] / whole for each, factor in terms.items()}
        value = sum(parts.values())
        others = [part for each, part in parts.items() if each is not of]
        error = self.noise.sd * math.sqrt(sum(x * x for x in others) + sum(others) ** 2)
        half = t_quantile(self.noise.degrees, 0.975) * error
        return Interval(low=value - half, value=value, high=value + half)
