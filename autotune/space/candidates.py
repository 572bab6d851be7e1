"""The space on this machine, for this workload: every configuration that can run."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping

from autotune.config import Configuration, axes, default_of
from autotune.errors import DatasetTooSmall, SpaceError
from autotune.machine import Machine
from autotune.space.constraints import Constraints
from autotune.space.legality import why_illegal
from autotune.space.schema import Space
from autotune.strategies import COMMON_AXES, strategy
from autotune.value import Scalar, Value
from autotune.workload import WorkloadFacts

MAX_CONFIGURATIONS = 100_000
"""A space beyond this cannot be searched, and counting it would take minutes."""

Domains = Mapping[str, tuple[Scalar, ...]]


class Limit(Value):
    """A rule that took configurations out of the space."""

    strategy: str
    rule: str
    configurations: int


class Candidates(Value):
    """The configurations that can run, no two of them equal in effect."""

    configurations: tuple[Configuration, ...]
    limits: tuple[Limit, ...]

    @property
    def one_device(self) -> tuple[Configuration, ...]:
        """Those on one device."""
        return tuple(c for c in self.configurations if not c.distributed)

    @property
    def distributed(self) -> tuple[Configuration, ...]:
        """The others."""
        return tuple(c for c in self.configurations if c.distributed)


def candidates(
    space: Space, machine: Machine, facts: WorkloadFacts, constraints: Constraints
) -> Candidates:
    """Return what of a space can run on a machine with a workload.

    Raises:
        SpaceError: An axis is nobody's, or nothing can run.
        DatasetTooSmall: Not even one device can fill a batch.
    """
    _check_own_axes(space, facts)
    legal: dict[Configuration, None] = {}
    broken: Counter[tuple[str, str]] = Counter()
    for name in _chosen(space, constraints):
        for each in _combinations(space, name, machine, facts, constraints):
            reason = why_illegal(each, machine, facts, constraints)
            if reason is None:
                legal[each] = None
            else:
                broken[name, reason] += 1
    limits = tuple(Limit(strategy=s, rule=r, configurations=n) for (s, r), n in broken.items())
    found = Candidates(configurations=tuple(legal), limits=limits)
    _check_yardstick(found, facts)
    return found


def domains(
    space: Space, name: str, machine: Machine, facts: WorkloadFacts, constraints: Constraints
) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each axis that means something under a strategy, in axis order."""
    owner = strategy(name)
    found = {}
    for axis, declaration in axes().items():
        if axis == "strategy" or axis not in COMMON_AXES | owner.axes:
            continue
        parameter = declaration.needs_parameter
        fixed = parameter is not None and parameter not in facts.dataset_takes
        found[axis] = (default_of(axis),) if fixed else space.values(axis)
    if "reduction" in found:
        found["reduction"] = _existing(found["reduction"], owner.reductions)
    if "workers" in found and constraints.workers:
        found["workers"] = constraints.workers
    return found | {axis: (value,) for axis, value in owner.fixed(machine).items()}


def canonical(configuration: Configuration) -> Configuration:
    """Return the configuration with every axis that has no effect in it set to its default."""
    idle = {
        name: default_of(name) for name, axis in axes().items() if not axis.matters(configuration)
    }
    return configuration.model_copy(update=idle)


def _chosen(space: Space, constraints: Constraints) -> tuple[str, ...]:
    """The strategies to try: one device always, because it is the yardstick."""
    asked = constraints.strategies
    unknown = set(asked or ()) - set(space.strategies) - {"one_device"}
    if unknown:
        raise SpaceError(
            f"The space {space.name} does not hold the strategy {min(unknown)!r}.",
            f"It holds {', '.join(space.strategies)}.",
        )
    return tuple(dict.fromkeys(["one_device", *(asked or space.strategies)]))


def _combinations(
    space: Space, name: str, machine: Machine, facts: WorkloadFacts, constraints: Constraints
) -> Iterator[Configuration]:
    found = domains(space, name, machine, facts, constraints)
    if constraints.global_batch:
        found["per_replica_batch"] = (constraints.global_batch,)
    own = {axis: space.values(axis) for axis in space.own_axes}
    _check_size(name, found, own)
    seen = set()
    for values in itertools.product(*found.values()):
        for extra in itertools.product(*own.values()):
            fields: dict[str, object] = dict(zip(found, values, strict=True))
            fields |= {"strategy": name, "arguments": tuple(zip(own, extra, strict=True))}
            # Every value was validated with the space; validating each product again is slow.
            each = Configuration().model_copy(update=fields)
            each = canonical(_share(each, constraints))
            if each not in seen:
                seen.add(each)
                yield each


def _share(configuration: Configuration, constraints: Constraints) -> Configuration:
    """Divide a fixed global batch between the replicas."""
    if constraints.global_batch is None:
        return configuration
    batch = max(constraints.global_batch // configuration.replicas, 1)
    return configuration.model_copy(update={"per_replica_batch": batch})


def _existing(asked: tuple[Scalar, ...], offered: tuple[str, ...]) -> tuple[Scalar, ...]:
    """Keep the reductions that a strategy has; TensorFlow's choice where none is left."""
    return tuple(each for each in asked if each in offered) or (offered[0],)


def _check_size(name: str, *parts: Domains) -> None:
    size = 1
    for part in parts:
        for values in part.values():
            size *= len(values)
    if size > MAX_CONFIGURATIONS:
        raise SpaceError(
            f"The space has {size:,} combinations for {name}, more than {MAX_CONFIGURATIONS:,}.",
            "Shorten the longest axes.",
        )


def _check_own_axes(space: Space, facts: WorkloadFacts) -> None:
    taken = {*facts.model_takes, *facts.dataset_takes}
    for name in space.own_axes:
        if name not in taken:
            raise SpaceError(
                f"Nobody takes the axis {name!r}: it is none of autotune's, and no factory "
                "declares a parameter of that name.",
                f"Autotune's axes are {', '.join(axes())}.",
            )


def _check_yardstick(found: Candidates, facts: WorkloadFacts) -> None:
    if found.one_device:
        return
    rules = [limit.rule for limit in found.limits if limit.strategy == "one_device"]
    if any("examples of the dataset" in rule for rule in rules):
        raise DatasetTooSmall(
            f"The dataset holds {facts.examples} examples, fewer than the smallest global batch.",
            "Give smaller values of per_replica_batch, or a dataset with more examples.",
        )
    raise SpaceError(
        f"Nothing can run on one device: {rules[0] if rules else 'the space is empty'}.",
        "Change the axis or the bound that this rule names.",
    )
