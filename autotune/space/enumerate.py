"""The space on this machine, for this workload: every configuration that can run."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autotune.axis import Axis, AxisRole
from autotune.base import Scalar, Value
from autotune.config import Configuration, axes, axes_of, default_of, equal_parts
from autotune.errors import DatasetTooSmall, SpaceError
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.reason import Rule, indivisible
from autotune.reason.sentences import rule_text
from autotune.space.legality import Situation
from autotune.space.schema import Space
from autotune.strategies import is_nearest, strategy, update_batch
from autotune.text import hint
from autotune.workload import BatchSource, WorkloadFacts, own_batch, own_settings

MAX_CONFIGURATIONS = 100_000
"""More than this under one strategy cannot be searched, and listing them would take minutes."""

ONE_DEVICE = "one_device"
"""The strategy that every search begins with, because it is the baseline."""

Domains = Mapping[str, tuple[Scalar, ...]]


class Limit(Value):
    """A rule that took configurations out of the space."""

    strategy: str
    rule: Rule
    configurations: int
    """Each configuration counts for one rule only, though it may break several."""


class Candidates(Value):
    """The configurations that can run, no two of them equal in effect.

    For each distributed one, one device is among them at its global batch, if that can run.
    """

    configurations: tuple[Configuration, ...]
    limits: tuple[Limit, ...]
    excluded: tuple[Configuration, ...] = ()
    """Those that can run as well, and are not compared."""

    @property
    def one_device(self) -> tuple[Configuration, ...]:
        return tuple(c for c in self.configurations if not c.distributed)

    @property
    def distributed(self) -> tuple[Configuration, ...]:
        return tuple(c for c in self.configurations if c.distributed)

    def only(self, wanted: Callable[[Configuration], bool], rule: Rule) -> Candidates:
        """Return those that are wanted, and by which rule the others are excluded."""
        excluded = tuple(c for c in self.configurations if not wanted(c))
        counts = Counter(c.strategy for c in excluded)
        limits = (Limit(strategy=s, rule=rule, configurations=n) for s, n in counts.items())
        return Candidates(
            configurations=tuple(filter(wanted, self.configurations)),
            limits=(*self.limits, *limits),
            excluded=excluded,
        )


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a space holds under one strategy."""

    placements: Mapping[Configuration, Rule | None]
    """Each way of distributing, all else at its default, and the rule that it breaks."""
    others: Domains
    """Of the axes that are no placement."""
    own_batch: int = 0
    """A global batch that every placement has too, or the nearest that divides; 0 for none."""

    @property
    def each(self) -> int:
        """Configurations that one placement stands for."""
        return _size(self.others)

    def filled(self, placement: Configuration) -> Iterator[Configuration]:
        """Yield the configurations with this placement, no two of them equal in effect."""
        # Every value was validated with the space; doing so again would be slow.
        found, share = self.others, self._share(placement)
        if share:
            batches = dict.fromkeys([share, *found["per_replica_batch"]])
            found = {**found, "per_replica_batch": tuple(batches)}
        every = (placement.taking(values).canonical() for values in _product(found))
        yield from dict.fromkeys(every)

    def undivided(self, placement: Configuration) -> int:
        """Return how many are missing because the own batch cannot be divided."""
        if not self.own_batch or self._share(placement):
            return 0
        return self.each // len(self.others["per_replica_batch"])

    def _share(self, placement: Configuration) -> int:
        """Return the own batch of each replica; 0 where there is none."""
        return equal_parts(self.own_batch, update_batch(placement) // placement.per_replica_batch)


def candidates(
    space: Space,
    machine: Machine,
    facts: WorkloadFacts,
    options: SearchOptions,
    *,
    divided: bool = False,
) -> Candidates:
    where = Situation(machine=machine, facts=facts, options=options)
    check_own_axes(space, {*facts.model_takes, *facts.dataset_takes})
    legal: list[Configuration] = []
    broken: Counter[tuple[str, Rule]] = Counter()
    own_default = own_batch(facts)
    own = own_default.size if divided and own_default.source is not BatchSource.KERAS else 0
    for name in strategies_of(space, where):
        for each, rule, count in _checked(part_of(space, name, where, own), where):
            if rule is None:
                legal.append(each)
            else:
                broken[name, rule] += count
        if name == ONE_DEVICE:
            legal += _as_it_is(legal, where)
        if name == ONE_DEVICE and divided:
            # The closest to the own one, where bounds or the space leave that out.
            batches = {each.global_batch for each in legal}
            own = min(batches, key=lambda b: abs(math.log(b / own_default.size)), default=0)
    limits = tuple(Limit(strategy=s, rule=r, configurations=n) for (s, r), n in broken.items())
    legal += _matches(legal, where, options.global_batch or own)
    found = Candidates(configurations=tuple(legal), limits=limits)
    if not found.one_device:
        raise _no_baseline(space, where, found)
    return found


def _matches(legal: Sequence[Configuration], where: Situation, own: int) -> Iterator[Configuration]:
    """Yield one device at the global batch of each distributed one, where the space has none.

    Throughput rises with the batch, distributed or not. A space bounds the batch of one replica, so
    several may take larger steps than one device does there; without its match one that is
    distributed would be credited with what only the batch has gained.
    """
    known = {*legal}
    for each in legal:
        if each.distributed:
            # The nearest to the own batch is compared with that.
            batch = own if is_nearest(each, own) else each.global_batch
            match = each.on_one_device().with_global_batch(batch)
            if match not in known and where.why_illegal(match) is None:
                known.add(match)
                yield match


def part_of(space: Space, name: str, where: Situation, own: int = 0) -> Part:
    found = domains(space, name, where)
    of_placement = {axis: found.pop(axis) for axis in axes_of(AxisRole.PLACEMENT) if axis in found}
    _check_size(name, _size(of_placement))
    batch = where.options.global_batch
    if batch:
        del found["per_replica_batch"]
    made = (Configuration(strategy=name).taking(values) for values in _product(of_placement))
    divided = (each.with_global_batch(batch) if batch else each for each in made)
    placements = dict.fromkeys(each.canonical() for each in divided)
    part = Part(
        placements={each: where.why_illegal_placement(each) for each in placements},
        others=found | {axis: space.values(axis) for axis in space.own_axes},
        own_batch=0 if batch else own,
    )
    legal = sum(rule is None for rule in part.placements.values())
    _check_size(name, legal * part.each)
    return part


def domains(space: Space, name: str, where: Situation) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of each axis that means something under a strategy, in axis order."""
    owner = strategy(name)
    found = {
        axis: space.values(axis) if _applies(each, where.facts) else (default_of(axis),)
        for axis, each in axes().items()
        if axis != "strategy" and owner.has(axis)
    }
    if "reduction" in found:
        known = tuple(each for each in found["reduction"] if each in owner.reductions)
        found["reduction"] = known or owner.reductions[:1]
    if "workers" in found and where.options.workers:
        found["workers"] = where.options.workers
    own = own_batch(where.facts)
    if own.source is BatchSource.FIT or where.facts.built_in_batch:
        found["per_replica_batch"] = tuple(dict.fromkeys([own.size, *found["per_replica_batch"]]))
    if where.facts.uncompilable and name == ONE_DEVICE:
        found["run_eagerly"] = (True,)
    if "cache" in found:
        workers = max(each for each in found.get("workers", (1,)) if isinstance(each, int))
        found["cache"] = where.caches(found["cache"], workers)
    return found | {axis: (value,) for axis, value in owner.fixed(where.machine).items()}


def _applies(axis: Axis, facts: WorkloadFacts) -> bool:
    declared = axis.needs_parameter is None or axis.needs_parameter in facts.dataset_takes
    return declared and (axis.where is None or axis.where(facts))


def strategies_of(space: Space, where: Situation) -> tuple[str, ...]:
    """Return the strategies to try: one device always, because it is the baseline."""
    asked = where.options.strategies
    unknown = set(asked or ()) - set(space.strategies) - {ONE_DEVICE}
    if unknown:
        raise SpaceError(
            f"Space {space.name!r} has no strategy {min(unknown)!r}.",
            f"It has {', '.join(space.strategies)}.",
        )
    return tuple(dict.fromkeys([ONE_DEVICE, *(asked or space.strategies)]))


def _as_it_is(legal: Sequence[Configuration], where: Situation) -> Iterator[Configuration]:
    """Yield the user's own settings where these run eagerly or with XLA, whatever the space has."""
    facts = where.facts
    if not (facts.eager or facts.jit_compile) or not legal:
        return
    own = own_settings(facts, where.options.global_batch).taking(dict(legal[0].arguments))
    if own not in legal and where.why_illegal(own) is None:
        yield own


def _checked(part: Part, where: Situation) -> Iterator[tuple[Configuration, Rule | None, int]]:
    """Yield each configuration, the rule that it breaks, and how many it stands for.

    A placement that cannot run stands for all configurations with it, which are never made.
    """
    for placement, rule in part.placements.items():
        if rule is not None:
            yield placement, rule, part.each
            continue
        for each in part.filled(placement):
            yield each, where.why_illegal(each), 1
        if missing := part.undivided(placement):
            yield placement, indivisible(part.own_batch, placement.replicas), missing


def _product(found: Domains) -> Iterator[dict[str, Scalar]]:
    for values in itertools.product(*found.values()):
        yield dict(zip(found, values, strict=True))


def _size(found: Domains) -> int:
    return math.prod(map(len, found.values()))


def _check_size(name: str, size: int) -> None:
    if size > MAX_CONFIGURATIONS:
        raise SpaceError(
            f"The space has {size:,} combinations for {name}; the limit is {MAX_CONFIGURATIONS:,}.",
            "Shorten the longest axes.",
        )


def check_own_axes(space: Space, taken: Collection[str]) -> None:
    """Make sure that each axis that is none of autotune's is a parameter of a factory."""
    for name in space.own_axes:
        if name not in taken:
            raise SpaceError(
                f"Unknown axis {name!r}: it is not a built-in axis, and neither factory has a "
                "parameter of that name.",
                hint(name, [*axes(), *sorted(taken)]),
            )


def _no_baseline(space: Space, where: Situation, found: Candidates) -> SpaceError | DatasetTooSmall:
    batches = space.values("per_replica_batch")
    smallest = where.options.global_batch or min(each for each in batches if isinstance(each, int))
    examples = where.facts.examples
    if examples is not None and smallest > examples:
        return DatasetTooSmall(
            f"The dataset has {where.facts.how_many}, fewer than the smallest global batch.",
            "Use smaller values of per_replica_batch, or a larger dataset.",
        )
    rules = [limit.rule for limit in found.limits if limit.strategy == ONE_DEVICE]
    why = rule_text(rules[0]) if rules else "the space is empty"
    return SpaceError(
        f"No single-device configuration can run: {why}.",
        "Change this axis or constraint.",
    )
