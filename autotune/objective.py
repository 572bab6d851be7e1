"""What a search optimizes: progress, throughput or cost.

A trial keeps what was measured. An objective reads one positive figure off it, and says which
direction is better; every decision of a search compares scores, which are the figures turned so
that more is better. Each figure is the examples per second times a factor that the configuration
has, or that factor divided by them, so that bounds of the one are bounds of the other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from autotune.config import Configuration
from autotune.errors import UsageError
from autotune.machine import Machine
from autotune.stats.intervals import Interval
from autotune.strategies import weighed_batch
from autotune.text import hint, rate
from autotune.trial import Trial
from autotune.workload import WorkloadFacts


class Batches(StrEnum):
    """Which global batches an objective compares."""

    ALIKE = "alike"
    """All: an example counts the same in each."""
    OWN = "own"
    """The user's own."""
    WEIGHED = "weighed"
    """All of which is known what an example teaches there; the user's own in any case."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is optimized: examples per second, each counted by what it teaches."""

    name: str
    """By which it is chosen, such as `cost`."""
    title: str
    """The quantity in words, such as `cost per epoch`."""
    unit: str = "examples/s"
    adjective: str
    """What a better configuration is, as in `1.3 times as cheap`."""
    direction: Literal["maximize", "minimize"] = "maximize"
    """Which figures are better; in Optuna's words."""
    batches: Batches
    by_device: bool = False
    """Whether every second counts for each device that is paid for."""

    @property
    def shown_anyway(self) -> bool:
        """Whether its figure is the examples per second, which every face shows."""
        return self.title == "throughput"

    def short(self, value: float) -> str:
        """Return a figure with its unit."""
        return f"{rate(value)} {self.unit}"


def devices(configuration: Configuration, machine: Machine) -> int:
    """Return the devices that are paid for: accelerators, or the hosts where there are none."""
    if machine.gpus or machine.tpus:
        return configuration.replicas
    return min(configuration.workers, len(machine.hosts))


MAX_THROUGHPUT = Objective(
    name="max_throughput", title="throughput", adjective="fast", batches=Batches.ALIKE
)
COST = Objective(
    name="cost",
    title="cost per epoch",
    unit="device hours",
    adjective="cheap",
    direction="minimize",
    batches=Batches.WEIGHED,
    by_device=True,
)
OBJECTIVES = {
    each.name: each
    for each in (
        Objective(
            name="time_to_loss",
            title="progress toward the same loss",
            adjective="fast to the same loss",
            batches=Batches.WEIGHED,
        ),
        Objective(name="throughput", title="throughput", adjective="fast", batches=Batches.OWN),
        MAX_THROUGHPUT,
        COST,
    )
}
EPOCH = 1_000_000
"""Examples of an epoch where nobody knows how many there are."""
Score = Callable[[Trial], float | None]
"""Reads off a trial how good it is: more is better; None if it does not tell."""


def objective_named(name: str) -> Objective:
    if name not in OBJECTIVES:
        raise UsageError(f"Unknown objective {name!r}.", hint(name, OBJECTIVES))
    return OBJECTIVES[name]


def throughput_of(trial: Trial) -> float | None:
    return trial.examples_per_second


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """An objective, applied to one workload on one machine."""

    objective: Objective
    facts: WorkloadFacts
    machine: Machine

    def __call__(self, trial: Trial) -> float | None:
        return self.of_rate(trial.configuration, trial.examples_per_second)

    def of_rate(
        self, configuration: Configuration, examples_per_second: float | None
    ) -> float | None:
        value = self._value(configuration, examples_per_second)
        if value is None or self.objective.direction == "maximize":
            return value
        return 1 / value

    def compares(self, configuration: Configuration) -> bool:
        """Return whether it tells how good a configuration is that has a throughput."""
        return self.of_rate(configuration, 1.0) is not None

    def paid(self, configuration: Configuration) -> int:
        """Return for how many devices each second counts: of a run, and of a training."""
        return devices(configuration, self.machine) if self.objective.by_device else 1

    def log_offset(self, configuration: Configuration) -> float:
        """Return log(score) minus log(rate)."""
        return math.log(self.of_rate(configuration, 1.0) or 1.0)

    def value(self, trial: Trial) -> float | None:
        return self._value(trial.configuration, trial.examples_per_second)

    def values(self, scores: Interval) -> Interval:
        """Return an interval of scores as one of figures."""
        return scores if self.objective.direction == "maximize" else scores.under(1)

    def _value(self, configuration: Configuration, rate: float | None) -> float | None:
        """Return the figure at a rate in examples per second, or None if that does not tell it.

        Another global batch than the user's own counts by the lower end of its efficiency, so it is
        preferred only where it pays in spite of the uncertainty.
        """
        if not rate:
            return None
        known = self.facts.learning
        # Without it nobody has said which batch is the user's own.
        if self.objective.batches is not Batches.ALIKE and known is not None:
            efficiency = known.efficiency(weighed_batch(configuration, known.batch))
            if efficiency is None:
                return None
            rate *= efficiency.low
        if not self.objective.by_device:
            return rate
        examples = self.facts.examples or EPOCH
        return devices(configuration, self.machine) * examples / rate / 3600
