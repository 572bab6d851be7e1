"""The space on this machine, for this workload: every configuration that can run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autotune.config import Configuration, axes
from autotune.errors import DatasetTooSmall, SpaceError
from autotune.hints import hint
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.space.part import Part, Situation, part_of
from autotune.space.schema import Space
from autotune.value import Value
from autotune.workload import WorkloadFacts

__all__ = ["Candidates", "Limit", "candidates"]


class Limit(Value):
    """A rule that took configurations out of the space."""

    strategy: str
    rule: str
    configurations: int
    """Each configuration counts for one rule only, though it may break several."""


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
    space: Space, machine: Machine, facts: WorkloadFacts, constraints: SearchOptions
) -> Candidates:
    """Return what of a space can run on a machine with a workload.

    Raises:
        SpaceError: An axis is nobody's, the space is too large, or nothing can run.
        DatasetTooSmall: Not even one device can fill a batch.
    """
    _check_own_axes(space, facts)
    where = Situation(machine=machine, facts=facts, constraints=constraints)
    legal: list[Configuration] = []
    broken: Counter[tuple[str, str]] = Counter()
    for name in _chosen(space, constraints):
        for each, rule, count in _judged(part_of(space, name, where), where):
            if rule is None:
                legal.append(each)
            else:
                broken[name, rule] += count
    limits = tuple(Limit(strategy=s, rule=r, configurations=n) for (s, r), n in broken.items())
    found = Candidates(configurations=tuple(legal), limits=limits)
    _check_baseline(found, facts)
    return found


def _chosen(space: Space, constraints: SearchOptions) -> tuple[str, ...]:
    """The strategies to try: one device always, because it is the baseline."""
    asked = constraints.strategies
    unknown = set(asked or ()) - set(space.strategies) - {"one_device"}
    if unknown:
        raise SpaceError(
            f"Space {space.name!r} has no strategy {min(unknown)!r}.",
            f"It has {', '.join(space.strategies)}.",
        )
    return tuple(dict.fromkeys(["one_device", *(asked or space.strategies)]))


def _judged(part: Part, where: Situation) -> Iterator[tuple[Configuration, str | None, int]]:
    """Yield each configuration, the rule that it breaks, and how many it stands for.

    A structure that cannot run stands for all configurations with it, which are never made.
    """
    for structure, rule in part.structures.items():
        if rule is not None:
            yield structure, rule, part.each
            continue
        for each in part.filled(structure):
            yield each, where.why_illegal(each), 1


def _check_own_axes(space: Space, facts: WorkloadFacts) -> None:
    taken = {*facts.model_takes, *facts.dataset_takes}
    for name in space.own_axes:
        if name not in taken:
            raise SpaceError(
                f"Unknown axis {name!r}: it is not a built-in axis, and neither factory has a "
                "parameter of that name.",
                hint(name, [*axes(), *sorted(taken)], listed=axes()),
            )


def _check_baseline(found: Candidates, facts: WorkloadFacts) -> None:
    if found.one_device:
        return
    rules = [limit.rule for limit in found.limits if limit.strategy == "one_device"]
    if any("examples of the dataset" in rule for rule in rules):
        raise DatasetTooSmall(
            f"The dataset has {facts.examples} example{'s' * (facts.examples != 1)}, fewer than "
            "the smallest global batch.",
            "Use smaller values of per_replica_batch, or a larger dataset.",
        )
    raise SpaceError(
        f"No single-device configuration can run: {rules[0] if rules else 'the space is empty'}.",
        "Change this axis or constraint.",
    )
