"""The part of a space under one strategy: ways of distributing, times all other axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from autotune.config import Axis, Configuration, axes, default_of
from autotune.errors import SpaceError
from autotune.machine import Machine
from autotune.space.constraints import Constraints
from autotune.space.legality import why_illegal, why_illegal_structure
from autotune.space.schema import Space
from autotune.strategies import COMMON_AXES, strategy
from autotune.value import Scalar
from autotune.workload import WorkloadFacts

MAX_CONFIGURATIONS = 100_000
"""A part beyond this cannot be searched, and listing it would take minutes."""

STRUCTURE = ("workers", "replicas_per_worker", "servers", "reduction", "shard_policy")
"""Axes that say how a training is distributed. They rule out most, so they are looked at first."""

Domains = Mapping[str, tuple[Scalar, ...]]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What decides whether a configuration can run."""

    machine: Machine
    facts: WorkloadFacts
    constraints: Constraints

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
        fed: The axes that say how a training is fed and stepped.
        own: The user's own axes.
    """

    structures: Mapping[Configuration, str | None]
    fed: Domains
    own: Domains

    @property
    def each(self) -> int:
        """Configurations that one structure stands for."""
        return _size(self.fed) * _size(self.own)

    def filled(self, structure: Configuration) -> Iterator[Configuration]:
        """Yield the configurations with this structure, no two of them equal in effect."""
        arguments = [tuple(zip(self.own, own, strict=True)) for own in _product(self.own)]
        found: dict[Configuration, None] = {}
        for values in _product(self.fed):
            fields = dict(zip(self.fed, values, strict=True))
            for own in arguments:
                # Every value was validated with the space; doing so again would be slow.
                update = {**fields, "arguments": own}
                found[canonical(structure.model_copy(update=update))] = None
        yield from found


def part_of(space: Space, name: str, where: Situation) -> Part:
    """Return what a space holds under a strategy.

    Raises:
        SpaceError: It is too much.
    """
    found = domains(space, name, where)
    structure = {axis: found.pop(axis) for axis in STRUCTURE if axis in found}
    _check_size(name, _size(structure))
    if where.constraints.global_batch:
        del found["per_replica_batch"]
    part = Part(
        structures={
            each: where.why_illegal_structure(each) for each in _structures(name, structure, where)
        },
        fed=found,
        own={axis: space.values(axis) for axis in space.own_axes},
    )
    legal = sum(rule is None for rule in part.structures.values())
    _check_size(name, legal * part.each)
    return part


def domains(space: Space, name: str, where: Situation) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each axis that means something under a strategy, in axis order."""
    owner = strategy(name)
    found = {}
    for axis, declaration in axes().items():
        if axis == "strategy" or axis not in COMMON_AXES | owner.axes:
            continue
        parameter = declaration.needs_parameter
        fixed = parameter is not None and parameter not in where.facts.dataset_takes
        found[axis] = (default_of(axis),) if fixed else space.values(axis)
    if "reduction" in found:
        found["reduction"] = _existing(found["reduction"], owner.reductions)
    if "workers" in found and where.constraints.workers:
        found["workers"] = where.constraints.workers
    return found | {axis: (value,) for axis, value in owner.fixed(where.machine).items()}


def canonical(configuration: Configuration) -> Configuration:
    """Return the configuration with every axis that has no effect in it set to its default."""
    idle = {
        name: default
        for name, matters, default in _sometimes()
        if getattr(configuration, name) != default and not matters(configuration)
    }
    return configuration.model_copy(update=idle) if idle else configuration


@cache
def _sometimes() -> tuple[tuple[str, Callable[[Configuration], bool], Scalar], ...]:
    """The axes that do not matter in every configuration: name, when they do, and default."""
    return tuple(
        (name, axis.matters, default_of(name))
        for name, axis in axes().items()
        if axis.matters is not Axis.matters
    )


def _structures(name: str, structure: Domains, where: Situation) -> dict[Configuration, None]:
    found: dict[Configuration, None] = {}
    for values in _product(structure):
        fields = dict(zip(structure, values, strict=True))
        each = Configuration(strategy=name).model_copy(update=fields)
        found[canonical(_share(each, where.constraints))] = None
    return found


def _share(configuration: Configuration, constraints: Constraints) -> Configuration:
    """Divide a fixed global batch between the replicas."""
    if constraints.global_batch is None:
        return configuration
    batch = max(constraints.global_batch // configuration.replicas, 1)
    return configuration.model_copy(update={"per_replica_batch": batch})


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
