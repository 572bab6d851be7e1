"""Which configuration stands for the user's own settings, and what is nearest to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.value import Scalar
from autotune.workload import WorkloadFacts, own_settings


def own_default(
    pool: Sequence[Configuration], facts: WorkloadFacts, options: SearchOptions
) -> Configuration:
    """Return one device as the user has it, or the closest that can run."""
    return nearest(own_settings(facts, options.global_batch), pool)


def plain(default: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return a default without eager execution and XLA; as it is where that cannot run."""
    other = default.taking({"run_eagerly": False, "xla": False})
    return other if other in pool else default


def nearest_first(target: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return a pool in order: first what differs from the target on the fewest axes, and least."""
    aim = target.values()
    return sorted(pool, key=lambda each: _distance(aim, each.values()))


def nearest(target: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return the first of them."""
    return nearest_first(target, pool)[0]


def _distance(a: Mapping[str, Scalar], b: Mapping[str, Scalar]) -> float:
    return sum(_gap(a.get(name), value) for name, value in b.items() if a.get(name) != value)


def _gap(x: object, y: object) -> float:
    """One for a different value, and up to one more for how far apart two counts are."""
    if isinstance(x, int) and isinstance(y, int) and x > 0 and y > 0:
        return 1 + min(abs(math.log2(x / y)) / 16, 1.0)
    return 1.5
