"""Which configurations to look at first, before any model of the space can help."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from autotune.config import Configuration, axes
from autotune.space.part import STRUCTURE

FIRST = (
    "per_replica_batch",
    "steps_per_execution",
    "num_parallel_calls",
    "private_threads",
    "cache",
)
"""Axes with the largest effects on one device, by experience; the others follow."""
WAY = ("strategy", *STRUCTURE)
"""Axes that say how a training is distributed; the others say how it is fed and stepped."""


def default_in(pool: Sequence[Configuration]) -> Configuration:
    """Return the configuration closest to what Keras does by itself."""
    return nearest(Configuration(), pool)


def one_factor_at_a_time(
    start: Configuration, pool: Sequence[Configuration]
) -> list[Configuration]:
    """Return a start and, for each value of each axis, the start with only that changed."""
    found = {start: None}
    for axis in (*FIRST, *(name for name in axes() if name not in FIRST)):
        for value in dict.fromkeys(getattr(c, axis) for c in pool):
            having = [c for c in pool if getattr(c, axis) == value]
            found[nearest(start.model_copy(update={axis: value}), having)] = None
    for arguments in dict.fromkeys(c.arguments for c in pool):
        having = [c for c in pool if c.arguments == arguments]
        found[nearest(start.model_copy(update={"arguments": arguments}), having)] = None
    return list(found)


def transfers(yardstick: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return each way of distributing, fed and stepped as the best single device is.

    First with the same batch for each replica, then with the same global batch. The strategies
    take turns, so that a short budget sees all of them.
    """
    groups: dict[tuple[object, ...], list[Configuration]] = {}
    for c in pool:
        groups.setdefault(tuple(getattr(c, axis) for axis in WAY), []).append(c)
    same_replica, same_global = [], []
    for group in _by_turns(groups.values()):
        fed = {name: getattr(yardstick, name) for name in axes() if name not in WAY}
        target = group[0].model_copy(update={**fed, "arguments": yardstick.arguments})
        same_replica.append(nearest(target, group))
        share = max(yardstick.global_batch // target.replicas, 1)
        smaller = target.model_copy(update={"per_replica_batch": share})
        same_global.append(nearest(smaller, group))
    return list(dict.fromkeys([*same_replica, *same_global]))


def openers(yardstick: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return for each strategy one configuration, fed and stepped as the best single device is."""
    first = {each.strategy: each for each in reversed(transfers(yardstick, pool))}
    return list(first.values())


def nearest(target: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return the configuration that differs from the target on the fewest axes, and least."""
    aim = _values(target)
    return min(pool, key=lambda each: _distance(aim, _values(each)))


def _values(configuration: Configuration) -> list[object]:
    return [getattr(configuration, name) for name in (*axes(), "arguments")]


def _distance(a: list[object], b: list[object]) -> float:
    return sum(_gap(x, y) for x, y in zip(a, b, strict=True) if x != y)


def _gap(x: object, y: object) -> float:
    """One for a different value, and up to one more for how far apart two counts are."""
    if isinstance(x, int) and isinstance(y, int) and x > 0 and y > 0:
        return 1 + min(abs(math.log2(x / y)) / 16, 1.0)
    return 1.5


def _by_turns(groups: Iterable[list[Configuration]]) -> list[list[Configuration]]:
    by_strategy: dict[str, list[list[Configuration]]] = {}
    for group in groups:
        by_strategy.setdefault(group[0].strategy, []).append(group)
    turns = max((len(each) for each in by_strategy.values()), default=0)
    return [each[i] for i in range(turns) for each in by_strategy.values() if i < len(each)]
