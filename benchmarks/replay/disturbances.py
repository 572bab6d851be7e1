"""What disturbs the runs of a replayed machine, one after the other."""

import random
from collections.abc import Callable

Disturbance = Callable[[bool], float]
"""Returns what happens to log(rate) in the next run, on several replicas or on one."""


def undisturbed(_: random.Random) -> Disturbance:
    return lambda _: 0.0


def two_modes(draw: random.Random) -> Disturbance:
    """Bimodal variation between distributed runs."""
    return lambda distributed: draw.choice((-0.2, 0.2)) if distributed else 0.0


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
