"""What a search optimizes: throughput, or an objective that another package registers.

A trial keeps what was measured. An objective reads one positive figure off it, and says which
direction is better; every decision of a search compares scores, which are the figures turned so
that more is better.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

from autotune.config import Configuration
from autotune.errors import UsageError
from autotune.hints import hint
from autotune.learning import examples_needed
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.plugins import load_plugin, plugin_names
from autotune.trial import Trial
from autotune.workload import WorkloadFacts

GROUP = "autotune.objectives"
"""Entry points of this group add objectives; each is an `Objective`."""


Direction = Literal["maximize", "minimize"]
"""Which figures are better; in Optuna's words."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a run has shown: all that an objective may look at."""

    configuration: Configuration
    examples_per_second: float
    facts: WorkloadFacts
    machine: Machine
    trial: Trial | None = None
    """The record of the run; None while it is running, and for runs of earlier searches."""


@runtime_checkable
class Objective(Protocol):
    """What is optimized. A subclass sets the names and reads the figure."""

    name: ClassVar[str]
    """By which it is chosen, such as `cost`."""
    title: ClassVar[str]
    """The quantity in words, such as `cost per epoch`."""
    unit: ClassVar[str]
    adjective: ClassVar[str]
    """What a better configuration is, as in `1.3 times as cheap`."""
    direction: ClassVar[Direction]
    follows_throughput: ClassVar[bool] = False
    """Whether the figure is the examples per second times a factor, or a factor divided by them,
    the same factor for all configurations. Only then may the search skip what is proved to be
    slower, and use what earlier searches measured."""

    learns: ClassVar[bool] = False
    """Whether it needs to know what an example teaches at other batch sizes."""

    @abstractmethod
    def value(self, measurement: Measurement) -> float | None:
        """Return the figure, which is positive and finite, or None if the run does not tell it."""
        ...

    def short(self, value: float) -> str:
        """Return a figure with its unit."""
        return f"{value:.3g} {self.unit}"


class Throughput(Objective):
    """Examples per second."""

    name = "throughput"
    title = "throughput"
    unit = "examples/s"
    adjective = "fast"
    direction = "maximize"
    follows_throughput = True

    def value(self, measurement: Measurement) -> float | None:
        """Return the measured rate."""
        return measurement.examples_per_second


class TimeToLoss(Objective):
    """Progress per second toward a loss: examples per second, each counted by what it teaches.

    At another global batch than the user's own, the examples needed are those at the upper end of
    their interval. So a batch is preferred only where that pays in spite of what is not known; one
    of which nothing is known is not compared.
    """

    name = "time_to_loss"
    title = "progress toward the same loss"
    unit = "examples/s"
    adjective = "fast to the same loss"
    direction = "maximize"
    learns = True

    def value(self, measurement: Measurement) -> float | None:
        """Return the examples per second of the user's own batch that teach as much."""
        learning = measurement.facts.learning
        if learning is None:
            return None
        needed = examples_needed(learning, measurement.configuration.global_batch)
        return measurement.examples_per_second / needed.examples.high if needed else None


THROUGHPUT = Throughput()
TIME_TO_LOSS = TimeToLoss()
Score = Callable[[Trial], float | None]
"""Reads off a trial how good it is: more is better; None if it does not tell."""


def throughput_of(trial: Trial) -> float | None:
    """Return the examples per second of a trial."""
    return trial.examples_per_second


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """An objective, applied to one workload on one machine."""

    objective: Objective
    facts: WorkloadFacts
    machine: Machine

    def __call__(self, trial: Trial) -> float | None:
        """Return how good a trial is."""
        return self._score(self._value(trial.configuration, trial.examples_per_second, trial))

    def of_rate(self, configuration: Configuration, examples_per_second: float) -> float | None:
        """Return how good a configuration is of which only the throughput is known."""
        return self._score(self._value(configuration, examples_per_second, None))

    def value(self, trial: Trial) -> float | None:
        """Return the figure of a trial."""
        return self._value(trial.configuration, trial.examples_per_second, trial)

    def values(self, scores: Interval) -> Interval:
        """Return an interval of scores as one of figures."""
        if self.objective.direction == "maximize":
            return scores
        return Interval(low=1 / scores.high, value=1 / scores.value, high=1 / scores.low)

    def _score(self, value: float | None) -> float | None:
        minimized = self.objective.direction == "minimize"
        return 1 / value if value is not None and minimized else value

    def _value(
        self, configuration: Configuration, rate: float | None, trial: Trial | None
    ) -> float | None:
        if not rate:
            return None
        measurement = Measurement(
            configuration=configuration,
            examples_per_second=rate,
            facts=self.facts,
            machine=self.machine,
            trial=trial,
        )
        value = self.objective.value(measurement)
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise UsageError(
                f"Objective {self.objective.name!r} returned {value!r} for a configuration.",
                "Its value must be a positive finite number, or None.",
            )
        return value


_registered: dict[str, Objective] = {each.name: each for each in (THROUGHPUT, TIME_TO_LOSS)}


def register_objective(objective: Objective) -> None:
    """Offer an objective by its name in this process; an entry point offers it in all."""
    _registered[objective.name] = objective


def objective_names() -> tuple[str, ...]:
    """Return the names of all objectives."""
    return tuple(dict.fromkeys((*_registered, *plugin_names(GROUP))))


def objective_named(name: str) -> Objective:
    """Return the objective of that name.

    Raises:
        UsageError: There is none, or it cannot be imported; the text says which there are.
    """
    if name in _registered:
        return _registered[name]
    if name not in objective_names():
        raise UsageError(f"Unknown objective {name!r}.", hint(name, objective_names()))
    found: Objective = load_plugin(GROUP, name, kind=Objective)
    return found
