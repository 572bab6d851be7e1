"""The runs that take a step apart: each is the configuration itself with one thing changed.

They are the experiments that a profiler's reader would make by hand: the same step on a batch that
is held in memory (what is left out is the input), with more steps for each call (the call), with
half of the batch (what does not depend on the batch), by the same replicas without the exchange of
their gradients (what it adds), on one replica alone (what comes with the others), and the exchange
of the gradients without any training. They are made in turns, so that a machine that becomes
slower or faster meanwhile does so for all that is compared.

Noise multiplies, and what the machine does to all runs of a round cancels in their ratios. With
errors e of log(seconds), a sum of shares c t / t_0 is off by that of c t / t_0 (e - e_0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

from autotune.config import Configuration
from autotune.stats import Interval, Noise, squared_residuals
from autotune.stats.intervals import t_quantile
from autotune.strategies import strategy
from autotune.value import Value
from autotune.workload import WorkloadFacts

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
    EXCHANGE = "exchange"
    """Nothing but the strategy's own work and the exchange of the gradients."""
    LATENCY = "latency"
    """The same with a single number to exchange."""


Round = Mapping[Experiment, float]
"""Seconds of a step in experiments that followed one another."""
Rounds = Sequence[Round]
"""Each may lack some: time may have ended."""
Terms = Mapping[Experiment, float]
"""What is added up: experiments, each with the factor by which it counts."""


class Variant(Value):
    """What an experiment runs."""

    configuration: Configuration
    held: bool = True
    """Whether every step takes the same batch, held in memory."""
    exchanges: bool = True
    """Whether its replicas exchange their gradients."""
    only_bytes: int | None = None
    """Bytes of gradients to exchange without any training; None: the workload is trained."""


def telling(configuration: Configuration) -> tuple[Experiment, ...]:
    """Return the experiments without which nobody knows what a step spends its time on."""
    if not configuration.distributed:
        return (Experiment.STEP, Experiment.HELD)
    # Workers that only meet on parameter servers train nothing without them.
    apart = () if strategy(configuration.strategy).asynchronous else (Experiment.APART,)
    return (Experiment.STEP, Experiment.HELD, *apart, Experiment.ALONE)


def further(configuration: Configuration, facts: WorkloadFacts) -> tuple[Experiment, ...]:
    """Return the experiments that tell more, the most telling first."""
    if not configuration.distributed:
        return (Experiment.CALLS, Experiment.HALF)
    if strategy(configuration.strategy).asynchronous:
        return (Experiment.HALF,)
    # The program that only exchanges gradients knows dense ones alone.
    known = facts.dense_gradient_bytes >= facts.gradient_bytes
    alone = (Experiment.EXCHANGE,) if known else ()
    latency = (Experiment.LATENCY,) if known and configuration.workers > 1 else ()
    return (Experiment.HALF, *alone, *latency)


def variant(
    configuration: Configuration, experiment: Experiment, facts: WorkloadFacts
) -> Variant | None:
    """Return what an experiment runs; None where there is no such thing."""
    changed = _changed(configuration, experiment)
    if changed is None:
        return None
    only_bytes = {Experiment.EXCHANGE: facts.dense_gradient_bytes, Experiment.LATENCY: 0}
    return Variant(
        configuration=changed,
        held=experiment is not Experiment.STEP,
        exchanges=experiment is not Experiment.APART,
        only_bytes=only_bytes.get(experiment),
    )


def _changed(configuration: Configuration, experiment: Experiment) -> Configuration | None:
    match experiment:
        case Experiment.CALLS:
            other = MANY_STEPS if configuration.steps_per_execution == 1 else 1
            return configuration.but(steps_per_execution=other)
        case Experiment.ALONE:
            return configuration.on_one_device()
        case Experiment.HALF:
            half = configuration.per_replica_batch // 2
            alone = configuration.on_one_device()
            return alone.but(per_replica_batch=half) if half else None
    return configuration


class Timings(NamedTuple):
    """What experiments took, and the noise between runs of a round."""

    rounds: Rounds
    noise: Noise

    def having(self, *experiments: Experiment) -> list[Round]:
        """Return the rounds that have all of some experiments."""
        return [each for each in self.rounds if all(one in each for one in experiments)]

    def seconds(self, experiment: Experiment) -> float | None:
        used = self.having(experiment)
        return _mean(used, experiment) if used else None

    def share(self, terms: Terms, of: Experiment = Experiment.STEP) -> Interval | None:
        """Return a sum of timings as a share of one, with its 95 % interval; it may be negative.

        None if no round has all that it takes.
        """
        used = self.having(*terms, of)
        if not used:
            return None
        whole = _mean(used, of)
        parts = {each: factor * _mean(used, each) / whole for each, factor in terms.items()}
        value = sum(parts.values())
        others = [part for each, part in parts.items() if each is not of]
        squares = sum(x * x for x in others) + sum(others) ** 2
        error = self.noise.sd * math.sqrt(squares / len(used))
        half = t_quantile(self.noise.degrees, 0.975) * error
        return Interval(low=value - half, value=value, high=value + half)


def timings(rounds: Rounds, expected: Noise) -> Timings:
    """Return rounds with the noise between runs of a round, as far as repeated rounds show it.

    What is common to all runs of a round is no noise.
    """
    # The time may have ended after the first run of a round, which is compared with nothing then.
    used = [each for each in rounds if len(each) > 1]
    common = set.intersection(*map(set, used)) if used else set()
    if len(used) < 2 or len(common) < 2:
        return Timings(rounds, expected)
    means = [fmean(math.log(each[one]) for one in common) for each in used]
    squares, _ = squared_residuals(
        [math.log(each[one]) - mean_log for each, mean_log in zip(used, means, strict=True)]
        for one in common
    )
    degrees = expected.degrees + (len(used) - 1) * (len(common) - 1)
    variance = (expected.degrees * expected.sd**2 + squares) / degrees
    return Timings(rounds, Noise(sd=math.sqrt(variance), degrees=degrees))


def _mean(used: Rounds, experiment: Experiment) -> float:
    return math.exp(fmean(math.log(each[experiment]) for each in used))
