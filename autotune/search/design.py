"""Which configurations to look at first, before any model of the space can help."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from autotune.config import Configuration, axes
from autotune.space.part import STRUCTURE

STEPPED = ("per_replica_batch", "steps_per_execution")
"""Axes that make each call of the training step larger."""
FED = ("num_parallel_calls", "private_threads", "cache")
"""Axes that spend more on the input. Some help only together: sixteen parallel calls that wait need
as many threads."""
THREADS = "private_threads"
"""The one of these that can do harm: calls that compute are slowed down by more threads than
cores."""
WAY = ("strategy", *STRUCTURE)
"""Axes that say how a training is distributed; the others say how it is fed and stepped."""


def default_in(pool: Sequence[Configuration]) -> Configuration:
    """Return the configuration closest to what Keras does by itself."""
    return nearest(Configuration(), pool)


def one_factor_at_a_time(
    start: Configuration, pool: Sequence[Configuration]
) -> Iterator[Configuration]:
    """Yield a start and, for each value of each axis, the start with only that changed."""
    yield start
    first = (*STEPPED, *FED)
    for axis in (*first, *(name for name in axes() if name not in first), "arguments"):
        for value in dict.fromkeys(getattr(c, axis) for c in pool):
            if value != getattr(start, axis):
                having = [c for c in pool if getattr(c, axis) == value]
                yield nearest(start.model_copy(update={axis: value}), having)


def groups(start: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return a start with groups of axes at their largest values: stepped, then fed as well.

    Screening by groups (Watson, Technometrics 3, 1961), because effects within a group go the same
    way, and what two axes do only together is seen at once. Threads are the exception, so fed comes
    with them and without.
    """
    largest = {name: max((getattr(c, name) for c in pool), key=_size) for name in STEPPED + FED}
    fed = {name: largest[name] for name in FED}
    stepped = {name: largest[name] for name in STEPPED}
    changes = (stepped, stepped | fed, stepped | fed | {THREADS: getattr(start, THREADS)})
    return [nearest(start.model_copy(update=each), pool) for each in changes]


def openers(baseline: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return for each strategy one configuration, fed and stepped as the best single device is.

    Of the ways to divide the work under a strategy the first one is taken, because the values of
    an axis stand in the order in which they are worth a try.
    """
    fed = {name: getattr(baseline, name) for name in (*axes(), "arguments") if name not in WAY}
    found = []
    for name in dict.fromkeys(each.strategy for each in pool):
        mine = [each for each in pool if each.strategy == name]
        way = {axis: getattr(mine[0], axis) for axis in WAY}
        alike = [each for each in mine if all(getattr(each, a) == v for a, v in way.items())]
        found.append(nearest(baseline.model_copy(update={**way, **fed}), alike))
    return found


def nearest(target: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return the configuration that differs from the target on the fewest axes, and least."""
    aim = _values(target)
    return min(pool, key=lambda each: _distance(aim, _values(each)))


def _size(value: object) -> float:
    """Order the values of an axis by how much they spend; `auto` and `off` spend least."""
    if isinstance(value, int):
        return value
    return 1.0 if value == "memory" else 0.0


def _values(configuration: Configuration) -> list[object]:
    return [getattr(configuration, name) for name in (*axes(), "arguments")]


def _distance(a: list[object], b: list[object]) -> float:
    return sum(_gap(x, y) for x, y in zip(a, b, strict=True) if x != y)


def _gap(x: object, y: object) -> float:
    """One for a different value, and up to one more for how far apart two counts are."""
    if isinstance(x, int) and isinstance(y, int) and x > 0 and y > 0:
        return 1 + min(abs(math.log2(x / y)) / 16, 1.0)
    return 1.5
