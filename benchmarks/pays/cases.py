"""What searches are judged on: a table, with the batch free or held, and what disturbs its runs."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.search.setup import own_default
from benchmarks.replay.characters import character
from benchmarks.replay.disturbances import Disturbance, drift, one_in_ten, two_modes, undisturbed
from benchmarks.replay.replay import situation
from benchmarks.replay.world import World, recorded

ENOUGH = 12
"""Configurations of one global batch, distributed or not, from which a table is searched with that
batch alone."""
ALL_THE_SAME = ("conv", "lstm")
"""Tables of one batch that were among those by which the goals with a free one were set."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """How the machine of a table is changed."""

    name: str
    disturbed: Callable[[random.Random], Disturbance] = undisturbed
    gain: float | None = None
    """What the best distributed configuration gains over the best single device; None: as it is."""


RECORDED = Scenario(name="as recorded")
SCENARIOS = (
    Scenario(name="two modes of distributed runs, ±20 %", disturbed=two_modes),
    Scenario(name="drift of 3 % a run", disturbed=drift),
    Scenario(name="one run in ten disturbed", disturbed=one_in_ten),
    Scenario(name="distribution gains nothing", gain=0.0),
    Scenario(name="distribution is 5 % slower", gain=-0.05),
    Scenario(name="distribution gains 10 %", gain=0.10),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One machine with a training on it."""

    table: str
    fixed: bool = False
    """Whether the user holds the global batch."""
    scenario: Scenario = RECORDED

    @property
    def unseen(self) -> bool:
        """Whether the table is held out."""
        return character(self.table).unseen

    @property
    def own(self) -> Configuration:
        """The user's own settings."""
        return _own(self.table, self.batch)

    @property
    def batch(self) -> int | None:
        """The global batch that the user holds: the one that the table has most of."""
        return _most(self.table)[1] if self.fixed else None

    @property
    def world(self) -> World:
        """The truth, of what may be searched alone."""
        return _world(self)


def free(tables: Sequence[str]) -> list[Case]:
    """Return a case for each table in which the batch varies."""
    wanted = [e for e in tables if e in ALL_THE_SAME or not character(e).constraints.global_batch]
    return [Case(table=each) for each in wanted]


def fixed(tables: Sequence[str]) -> list[Case]:
    """Return a case for each of them that holds enough configurations of one batch."""
    return [Case(table=each, fixed=True) for each in tables if _most(each)[0] >= ENOUGH]


@cache
def _own(table: str, batch: int | None) -> Configuration:
    subject, found = situation(table, batch)
    return own_default(found.one_device, subject.facts, SearchOptions(global_batch=batch))


@cache
def _most(table: str) -> tuple[int, int]:
    """Return how many configurations there are of a global batch at most, and of which one."""
    known = recorded(table).rates
    batches, alone, several = (
        Counter(each.global_batch for each in known if each.distributed in kinds)
        for kinds in ((False, True), (False,), (True,))
    )
    both = [(batches[each], -each) for each in alone.keys() & several.keys()]
    count, batch = max(both, default=(0, 0))
    return count, -batch


@cache
def _world(case: Case) -> World:
    world = recorded(case.table)
    rates = {c: r for c, r in world.rates.items() if case.batch in {None, c.global_batch}}
    world = replace(world, rates=rates, disturbed=case.scenario.disturbed)
    return world if case.scenario.gain is None else world.with_gain(case.scenario.gain)
