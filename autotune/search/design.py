"""Which configurations to run first, before any model of the space can help."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from autotune.axis import AxisRole
from autotune.config import Configuration, axes, axes_of
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


def groups(start: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return a start with the largest batch, then with groups of axes at their largest values.

    The pool may lack the largest step of all, so the batch comes first there, with as many steps
    per call as it leaves; then the step's axes together, and with them the input's.

    Screening by groups (Watson, Technometrics 3, 1961), because effects within a group go the same
    way, and what two axes do only together is seen at once: sixteen parallel calls that wait need
    as many threads. What can do harm is the exception, so the input comes with it and without.
    """
    step, input_too = (
        {name: max((each[name] for each in pool), key=_size) for name in _screened(role)}
        for role in (AxisRole.STEP, AxisRole.INPUT)
    )
    without = {name: start[name] for name in input_too if axes()[name].may_harm}
    first = max(pool, key=lambda each: [_size(each[name]) for name in step])
    extreme = start.taking({name: first[name] for name in step})
    changes = (step | input_too, step | input_too | without)
    return [nearest(each, pool) for each in (extreme, *map(start.taking, changes))]


def nearest_first(target: Configuration, pool: Sequence[Configuration]) -> list[Configuration]:
    """Return a pool in order: first what differs from the target on the fewest axes, and least."""
    aim = target.values()
    return sorted(pool, key=lambda each: _distance(aim, each.values()))


def nearest(target: Configuration, pool: Sequence[Configuration]) -> Configuration:
    """Return the first of them."""
    return nearest_first(target, pool)[0]


def _screened(role: AxisRole) -> list[str]:
    decisive = [name for name, axis in axes().items() if axis.decisive]
    mine = [*axes_of(role), *(decisive if role is AxisRole.STEP else ())]
    return [name for name in mine if axes()[name].screened]


def _size(value: Scalar) -> float:
    """Order the values of an axis by how much they spend; `auto` and `off` spend least."""
    return value if isinstance(value, int | float) else float(value not in ("auto", "off"))


def _distance(a: Mapping[str, Scalar], b: Mapping[str, Scalar]) -> float:
    return sum(_gap(a.get(name), value) for name, value in b.items() if a.get(name) != value)


def _gap(x: object, y: object) -> float:
    """One for a different value, and up to one more for how far apart two counts are."""
    if isinstance(x, int) and isinstance(y, int) and x > 0 and y > 0:
        return 1 + min(abs(math.log2(x / y)) / 16, 1.0)
    return 1.5
