"""Screening: many settings timed briefly in one process, so that trials go where it pays.

What is timed there is not the program that is handed over, and decides nothing. It only tells which
configurations are worth a trial, and its figures are kept apart from those of trials.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from autotune.axis import AxisRole
from autotune.config import Configuration, axes, default_of
from autotune.engine.base import Stop
from autotune.plain import Window
from autotune.reason import Measured, Outcome

STEP_AXES = ("per_replica_batch", "steps_per_execution")
"""Of the axes of the step, those that a process can change while it runs; of the input all."""
SHARE = 0.5
"""Of the time that is left for exploring, what a screening may take."""
SETTING_SECONDS = 0.7
"""What a setting takes, its first call and the creation of its input included."""
MOST = 40
"""Beyond these, more settings would tell little."""
LOOK_WORTH = 0.1
"""Of a trial, what a look at a setting is worth."""
AGAIN = 10
"""The first setting comes again after so many others, so that a drift of the machine shows."""


class Screened(NamedTuple):
    """What a setting has shown."""

    configuration: Configuration
    log_score: float


class Screening(NamedTuple):
    """What one process has shown, in the order in which it did."""

    figures: tuple[Screened, ...]
    seconds: float
    """What it took, its start included."""
    ended_at: float
    """When it ended, on the clock of the trials."""


def process_for(configuration: Configuration) -> Configuration | None:
    """Return what stands for all configurations that can share its process; None if none can.

    XLA compiles for a fixed batch, and several processes would have to walk in step.
    """
    if configuration.processes > 1 or configuration.xla:
        return None
    changed = [name for name in configuration.values() if name in axes() and _can_change(name)]
    return configuration.taking({name: default_of(name) for name in changed})


def affordable(most: float, trial: float, start: float, settings: int) -> int:
    """Return how many settings a screening should look at; 0 where it does not pay.

    Args:
        most: Seconds that exploring may still take.
        trial: Of a trial.
        start: Of these, what a process needs before its second step.
        settings: The choice.
    """
    trials = most / trial
    if trials <= 0 or math.isinf(trials) or settings <= trials:
        return 0
    count = min(int((SHARE * most - start) / SETTING_SECONDS), MOST, settings)
    seconds = start + count * SETTING_SECONDS
    return count if count * LOOK_WORTH * trial >= seconds else 0


def walk(
    start: Configuration, pool: Sequence[Configuration], count: int, draw: random.Random
) -> list[Configuration]:
    """Return settings of a pool in the order in which they are looked at.

    As many of each batch and number of steps per call, in random order, but the largest steps last:
    what runs out of memory takes the process with it.
    """
    chosen = _spread(pool, count, draw)
    draw.shuffle(chosen)
    most = max(each.global_batch for each in chosen)
    chosen.sort(key=lambda each: each.global_batch == most)
    parts = [chosen[at : at + AGAIN] for at in range(0, len(chosen), AGAIN)]
    return [start, *(each for part in parts for each in (*part, start))]


class UntilLate:
    """A watch that ends a screening when its time is up.

    Args:
        left: Tells the seconds that are left to it.
    """

    def __init__(self, left: Callable[[], float]) -> None:
        self._left = left

    def __call__(self, windows: Sequence[Window]) -> Stop | None:
        """End it when it is late."""
        del windows
        return Stop(Outcome.MEASURED, Measured()) if self._left() <= 0 else None


def _can_change(name: str) -> bool:
    return name in STEP_AXES or axes()[name].role is AxisRole.INPUT


def _spread(pool: Sequence[Configuration], count: int, draw: random.Random) -> list[Configuration]:
    """Draw from the settings of each kind of step in turn."""
    kinds: dict[tuple[object, ...], list[Configuration]] = defaultdict(list)
    for each in draw.sample(pool, len(pool)):
        kinds[tuple(each[name] for name in STEP_AXES)].append(each)
    turns = itertools.zip_longest(*kinds.values())
    found = [each for turn in turns for each in turn if each is not None]
    return found[:count]
