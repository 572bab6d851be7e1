"""The truth that a replayed search has to find, and how runs scatter around it."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

import numpy as np

from autotune.config import Configuration
from autotune.shared_values import Window
from autotune.stats.windows import read, steady_from, warmed_up_from
from benchmarks.replay import table as tables
from benchmarks.replay.disturbances import Disturbance, undisturbed
from benchmarks.replay.kriging import kriged
from benchmarks.replay.table import FOLDER, Run, Table


@dataclass(frozen=True, kw_only=True)
class World:
    """One table, taken for the whole truth.

    Attributes:
        table: Where it comes from.
        rates: Examples per second of every configuration that was measured, by its own runs and by
            those of configurations like it.
        scatter: log(rate) of repeated runs minus their mean, of all configurations together; a
            replayed run draws from these.
        disturbed: What else happens to runs on this machine, one after the other.
    """

    table: Table
    rates: Mapping[Configuration, float]
    scatter: Sequence[float]
    disturbed: Callable[[random.Random], Disturbance] = undisturbed

    @property
    def best(self) -> float:
        """The throughput of the best configuration."""
        return max(self.rates.values())

    def best_of(self, *, distributed: bool) -> float:
        """Return the throughput of the best configuration on several replicas, or on one."""
        return self.rates[self.fastest(distributed=distributed)]

    def fastest(self, *, distributed: bool) -> Configuration:
        """Return the best configuration on several replicas, or on one."""
        mine = [each for each in self.rates if each.distributed is distributed]
        return max(mine, key=lambda each: self.rates[each])

    @property
    def exhaustive_seconds(self) -> float:
        """What one pass over all configurations took."""
        return sum(run.wall_seconds for run in self.table.runs if run.turn == 0)

    @property
    def noise(self) -> float:
        """Standard deviation of log(rate) between runs."""
        return math.sqrt(fmean(each**2 for each in self.scatter))

    def with_gain(self, gain: float) -> World:
        """Return a world in which the best distributed configuration gains exactly that share."""
        factor = (1 + gain) * self.best_of(distributed=False) / self.best_of(distributed=True)
        rates = {c: r * factor if c.distributed else r for c, r in self.rates.items()}
        return replace(self, rates=rates)


def world_of(table: Table, *, alike: bool = True) -> World:
    """Return the world that a table shows, where runs tell of configurations `alike` as well."""
    logs: dict[Configuration, list[float]] = defaultdict(list)
    for run in table.trainings:
        if table.measured(run):
            logs[run.configuration].append(log_rate(run, table))
    world = World(
        table=table,
        rates={c: math.exp(fmean(each)) for c, each in logs.items()},
        scatter=[one for each in logs.values() for one in _residuals(each)],
    )
    if not alike or not world.scatter:
        return world  # without repeats nobody knows what is luck
    counts = [len(each) for each in logs.values()]
    means = [fmean(each) for each in logs.values()]
    expected = kriged([c.values() for c in logs], means, counts, world.noise)
    return replace(world, rates=dict(zip(logs, np.exp(expected).tolist(), strict=True)))


@cache
def recorded(name: str, *, alike: bool = True) -> World:
    """Return the world of a recorded table, which is read once."""
    return world_of(tables.read(FOLDER / f"{name}.json.xz"), alike=alike)


def log_rate(run: Run, table: Table, *, rounds: int = 1) -> float:
    """Return log(examples per second) of a measured run of a table.

    Args:
        run: The run.
        table: Its table.
        rounds: How often its steady windows go round.
    """
    reading = read([*steady(run, table)] * rounds, table.epoch(run.configuration))
    return math.log(reading.steps_per_second * run.configuration.global_batch)


def steady(run: Run, table: Table) -> Sequence[Window]:
    """Return the steady windows of a measured run; of one that was too short the settled ones."""
    epoch = table.epoch(run.configuration)
    start = steady_from(run.windows, epoch)
    return run.windows[warmed_up_from(run.windows) if start is None else start :]


def _residuals(logs: Sequence[float]) -> list[float]:
    if len(logs) < 3:
        return []
    # A mean of few runs lies too close to them.
    stretch = math.sqrt(len(logs) / (len(logs) - 1))
    return [(each - fmean(logs)) * stretch for each in logs]
