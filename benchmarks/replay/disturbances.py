"""Machines on which simulated finals run: how runs of one configuration scatter on each."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

Disturbance = Callable[[bool], float]
"""Returns what happens to log(rate) in the next run, on several replicas or on one."""


def undisturbed(_: random.Random) -> Disturbance:
    return lambda _: 0.0


@dataclass(frozen=True, kw_only=True)
class World:
    """How runs scatter: a normal part for each class of configurations, and what disturbs them."""

    name: str
    one_device: float
    """Standard deviation of log(rate) on one device."""
    distributed: float
    disturbed: Callable[[random.Random], Disturbance] = undisturbed

    def runs(self, draw: random.Random) -> Disturbance:
        disturbance = self.disturbed(draw)
        sd = {False: self.one_device, True: self.distributed}

        def run(distributed: bool) -> float:  # noqa: FBT001
            disturbed = disturbance(distributed)
            return draw.gauss(0, sd[distributed]) + disturbed

        return run


def alike(sd: float) -> World:
    return World(name=f"noise {sd:.0%}", one_device=sd, distributed=sd)


def unlike(one_device: float, distributed: float) -> World:
    name = f"one device {one_device:.0%}, distributed {distributed:.0%}"
    return World(name=name, one_device=one_device, distributed=distributed)


def two_modes(draw: random.Random) -> Disturbance:
    """Bimodal variation between distributed runs."""
    return lambda distributed: draw.choice((-0.2, 0.2)) if distributed else 0.0


def _all_two_levels(draw: random.Random) -> Disturbance:
    return lambda _: draw.choice((-0.2, 0.2))


def _step(draw: random.Random) -> Disturbance:
    """At some run the machine becomes a quarter faster or slower, and stays so."""
    at, size, count = draw.randrange(4, 40), draw.choice((-0.25, 0.25)), iter(range(10**6))
    return lambda _: size if next(count) > at else 0.0


def _bursts(draw: random.Random) -> Disturbance:
    """Another program works three runs out of six; several replicas suffer more."""
    phase, count = draw.randrange(6), iter(range(10**6))

    def disturbance(distributed: bool) -> float:  # noqa: FBT001
        busy = (next(count) + phase) // 3 % 2
        return -busy * (0.45 if distributed else 0.25)

    return disturbance


def drift(draw: random.Random) -> Disturbance:
    """A random walk that all runs share."""
    level = 0.0

    def disturbance(_: bool) -> float:  # noqa: FBT001
        nonlocal level
        level += draw.gauss(0, 0.03)
        return level

    return disturbance


def one_in_ten(draw: random.Random) -> Disturbance:
    """One run in ten loses much of its speed to another program."""
    return lambda _: -draw.expovariate(2.5) if draw.random() < 0.1 else 0.0


def _stalls(draw: random.Random) -> Disturbance:
    """One distributed run in five loses much of its speed."""

    def disturbance(distributed: bool) -> float:  # noqa: FBT001
        stalls = distributed and draw.random() < 0.2
        return -draw.expovariate(2.5) if stalls else 0.0

    return disturbance


def _disturbed(name: str, sd: float, by: Callable[[random.Random], Disturbance]) -> World:
    return World(name=name, one_device=sd, distributed=sd, disturbed=by)


QUIET = tuple(alike(sd) for sd in (0.03, 0.06, 0.10, 0.20))
UNEQUAL = tuple(unlike(*sds) for sds in ((0.03, 0.10), (0.05, 0.20), (0.20, 0.05)))
DISTURBED = (
    _disturbed("distributed runs at two levels, ±20 %", 0.04, two_modes),
    _disturbed("all runs at two levels, ±20 %", 0.02, _all_two_levels),
    _disturbed("a step of 25 % at some run", 0.05, _step),
    _disturbed("bursts, distributed runs hit harder", 0.04, _bursts),
    _disturbed("distributed runs that stall", 0.03, _stalls),
    _disturbed("a random walk of 3 % a run", 0.05, drift),
    _disturbed("one run in ten disturbed", 0.04, one_in_ten),
)
