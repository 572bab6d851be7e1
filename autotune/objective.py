"""What a search optimizes: progress, throughput or cost.

A trial keeps what was measured. An objective reads one positive figure off it, and says which
direction is better; every decision of a search compares scores, which are the figures turned so
that more is better. Each figure is the examples per second times a factor that the configuration
has, or that factor divided by them, so that bounds of the one are bounds of the other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal

from autotune.config import Configuration
from autotune.errors import UsageError
from autotune.machine import Machine
from autotune.stats.efficiency import examples_needed
from autotune.stats.intervals import Interval
from autotune.strategies import update_batch
from autotune.text import hint, rate
from autotune.trial import Trial
from autotune.workload import WorkloadFacts

Direction = Literal["maximize", "minimize"]
"""Which figures are better; in Optuna's words."""


class Batches(StrEnum):
    """Which global batches an objective compares."""

    ALIKE = "alike"
    """All: an example counts the same in each."""
    OWN = "own"
    """The user's own."""
    WEIGHED = "weighed"
    """All of which is known what an example teaches there; the user's own in any case."""


class Objective(ABC):
    """What is optimized. A subclass sets the names and reads the figure."""

    name: ClassVar[str]
    """By which it is chosen, such as `cost`."""
    title: ClassVar[str]
    """The quantity in words, such as `cost per epoch`."""
    unit: ClassVar[str]
    adjective: ClassVar[str]
    """What a better configuration is, as in `1.3 times as cheap`."""
    direction: ClassVar[Direction]
    batches: ClassVar[Batches] = Batches.ALIKE
    """Which global batches are compared."""

    @abstractmethod
    def value(
        self, configuration: Configuration, rate: float, facts: WorkloadFacts, machine: Machine
    ) -> float | None:
        """Return the figure at a rate in examples per second, or None if that does not tell it."""

    def short(self, value: float) -> str:
        """Return a figure with its unit."""
        return f"{rate(value)} {self.unit}"


class MaxThroughput(Objective):
    """Examples per second, whatever they teach."""

    name = "max_throughput"
    title = "throughput"
    unit = "examples/s"
    adjective = "fast"
    direction = "maximize"

    def value(
        self, configuration: Configuration, rate: float, facts: WorkloadFacts, machine: Machine
    ) -> float | None:
        return rate


def progress(configuration: Configuration, rate: float, facts: WorkloadFacts) -> float | None:
    """Return the examples per second of the user's own batch that teach as much.

    At another global batch the examples needed are those at the upper end of their interval. So a
    batch is preferred only where that pays in spite of what is not known; None where nothing is.
    """
    if facts.learning is None:
        return rate  # Nobody has said which batch is the user's own.
    needed = examples_needed(facts.learning, update_batch(configuration))
    return None if needed is None else rate / needed.high


class Throughput(MaxThroughput):
    """Examples per second at the user's own global batch, so that an example teaches as much."""

    name = "throughput"
    batches = Batches.OWN

    def value(
        self, configuration: Configuration, rate: float, facts: WorkloadFacts, machine: Machine
    ) -> float | None:
        return progress(configuration, rate, facts)


class TimeToLoss(Throughput):
    """Progress per second toward a loss: examples per second, each counted by what it teaches."""

    name = "time_to_loss"
    title = "progress toward the same loss"
    adjective = "fast to the same loss"
    batches = Batches.WEIGHED


class Cost(Objective):
    """Device hours for as much progress as an epoch at the user's own batch makes."""

    name = "cost"
    title = "cost per epoch"
    unit = "device hours"
    adjective = "cheap"
    direction = "minimize"
    batches = Batches.WEIGHED

    def value(
        self, configuration: Configuration, rate: float, facts: WorkloadFacts, machine: Machine
    ) -> float | None:
        made, paid = progress(configuration, rate, facts), devices(configuration, machine)
        return made and paid * (facts.examples or EPOCH) / made / 3600


def devices(configuration: Configuration, machine: Machine) -> int:
    """Return the devices that are paid for: accelerators, or the hosts where there are none."""
    if machine.gpus or machine.tpus:
        return configuration.replicas
    return min(configuration.workers, len(machine.hosts))


MAX_THROUGHPUT = MaxThroughput()
COST = Cost()
_OBJECTIVES: dict[str, Objective] = {
    each.name: each for each in (TimeToLoss(), Throughput(), MAX_THROUGHPUT, COST)
}
EPOCH = 1_000_000
"""Examples of an epoch where nobody knows how many there are."""
Score = Callable[[Trial], float | None]
"""Reads off a trial how good it is: more is better; None if it does not tell."""


def objective_names() -> tuple[str, ...]:
    return tuple(_OBJECTIVES)


def objective_named(name: str) -> Objective:
    if name not in _OBJECTIVES:
        raise UsageError(f"Unknown objective {name!r}.", hint(name, _OBJECTIVES))
    return _OBJECTIVES[name]


def throughput_of(trial: Trial) -> float | None:
    return trial.examples_per_second


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """An objective, applied to one workload on one machine."""

    objective: Objective
    facts: WorkloadFacts
    machine: Machine

    def __call__(self, trial: Trial) -> float | None:
        return self._score(self.value(trial))

    def of_rate(self, configuration: Configuration, examples_per_second: float) -> float | None:
        return self._score(self._value(configuration, examples_per_second))

    def compares(self, configuration: Configuration) -> bool:
        """Return whether it tells how good a configuration is that has a throughput."""
        return self.of_rate(configuration, 1.0) is not None

    def log_offset(self, configuration: Configuration) -> float:
        """Return log(score) minus log(rate)."""
        return math.log(self.of_rate(configuration, 1.0) or 1.0)

    def value(self, trial: Trial) -> float | None:
        return self._value(trial.configuration, trial.examples_per_second)

    def values(self, scores: Interval) -> Interval:
        """Return an interval of scores as one of figures."""
        if self.objective.direction == "maximize":
            return scores
        return scores.under(1)

    def _score(self, value: float | None) -> float | None:
        minimized = self.objective.direction == "minimize"
        return 1 / value if value is not None and minimized else value

    def _value(self, configuration: Configuration, rate: float | None) -> float | None:
        if not rate:
            return None
        return self.objective.value(configuration, rate, self.facts, self.machine)
