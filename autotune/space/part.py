"""The part of a space under one strategy: ways of distributing, times all other axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autotune.config import AxisRole, Configuration, axes, axes_of, default_of
from autotune.errors import SpaceError
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.space.legality import why_illegal, why_illegal_structure
from autotune.space.schema import Space
from autotune.strategies import strategy
from autotune.value import Scalar
from autotune.workload import WorkloadFacts

MAX_CONFIGURATIONS = 100_000
"""A part beyond this cannot be searched, and listing it would take minutes."""

Domains = Mapping[str, tuple[Scalar, ...]]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What decides whether a configuration can run."""

    machine: Machine
    facts: WorkloadFacts
    constraints: SearchOptions

    def why_illegal(self, configuration: Configuration) -> str | None:
        """Return the rule that a configuration breaks, or None if it can run."""
        return why_illegal(configuration, self.machine, self.facts, self.constraints)

    def why_illegal_structure(self, configuration: Configuration) -> str | None:
        """Return the rule that a structure breaks whatever the other axes hold, or None."""
        return why_illegal_structure(configuration, self.machine, self.facts, self.constraints)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a space holds under one strategy.

    Attributes:
        structures: Each way of distributing, with the other axes at their defaults, and the rule
            that it breaks.
        others: The values of the axes that are no placement.
    """

    structures: Mapping[Configuration, str | None]
    others: Domains

    @property
    def each(self) -> int:
        """Configurations that one structure stands for."""
        return _size(self.others)

    def filled(self, structure: Configuration) -> Iterator[Configuration]:
        """Yield the configurations with this structure, no two of them equal in effect."""
        # Every value was validated with the space; doing so again would be slow.
        every = (dict(zip(self.others, each, strict=True)) for each in _product(self.others))
        yield from dict.fromkeys(structure.taking(values).canonical() for values in every)


def part_of(space: Space, name: str, where: Situation) -> Part:
    """Return what a space holds under a strategy.

    Raises:
        SpaceError: It is too much.
    """
    found = domains(space, name, where)
    structure = {axis: found.pop(axis) for axis in axes_of(AxisRole.PLACEMENT) if axis in found}
    _check_size(name, _size(structure))
    if where.constraints.global_batch:
        del found["per_replica_batch"]
    part = Part(
        structures={
            each: where.why_illegal_structure(each) for each in _structures(name, structure, where)
        },
        others=found | {axis: space.values(axis) for axis in space.own_axes},
    )
    legal = sum(rule is None for rule in part.structures.values())
    _check_size(name, legal * part.each)
    return part


def domains(space: Space, name: str, where: Situation) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each axis that means something under a strategy, in axis order."""
    owner = strategy(name)
    found = {}
    for axis, declaration in axes().items():
        if axis == "strategy" or not owner.has(axis):
            continue
        parameter = declaration.needs_parameter
        fixed = parameter is not None and parameter not in where.facts.dataset_takes
        found[axis] = (default_of(axis),) if fixed else space.values(axis)
    if "reduction" in found:
        found["reduction"] = _existing(found["reduction"], owner.reductions)
    if "workers" in found and where.constraints.workers:
        found["workers"] = where.constraints.workers
    return found | {axis: (value,) for axis, value in owner.fixed(where.machine).items()}


def _structures(name: str, structure: Domains, where: Situation) -> dict[Configuration, None]:
    found: dict[Configuration, None] = {}
    for values in _product(structure):
        fields = dict(zip(structure, values, strict=True))
        each = Configuration(strategy=name).taking(fields)
        if where.constraints.global_batch:
            each = each.with_global_batch(where.constraints.global_batch)
        found[each.canonical()] = None
    return found


def _existing(asked: tuple[Scalar, ...], offered: tuple[str, ...]) -> tuple[Scalar, ...]:
    """Keep the reductions that a strategy has; TensorFlow's choice where none is left."""
    return tuple(each for each in asked if each in offered) or (offered[0],)


def _product(parts: Domains) -> Iterator[tuple[Scalar, ...]]:
    return itertools.product(*parts.values())


def _size(parts: Domains) -> int:
    return math.prod(len(values) for values in parts.values())


def _check_size(name: str, size: int) -> None:
    if size > MAX_CONFIGURATIONS:
        raise SpaceError(
            f"The space has {size:,} combinations for {name}; the limit is {MAX_CONFIGURATIONS:,}.",
            "Shorten the longest axes.",
        )
