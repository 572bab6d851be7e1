"""Do the replicas start equal, stay equal, and draw random numbers of their own?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.checks.certificate import Check, failed, passed, see
from autotune.engine.tasks.observe import Copy, Numbers, RankObservation, Variable
from autotune.reason import CheckKind, Seen

START = "equal initial weights"
RANDOM = "independent random numbers"
EQUAL = "equal replicas"
PLACES = "variables on all replicas"
PROCESSORS = 8.0
"""Roundings, in a step, by which machines of different kinds may differ: they add up in another
order. Copies on machines of one kind are equal to the last bit."""


def check_start(ranks: Sequence[RankObservation]) -> Check:
    variables = [v for v in ranks[0].variables if v.kind != "optimizer"]
    copies = [copy.start for copy in _copies(ranks)]
    for index, variable in enumerate(variables):
        if variable.kind != "random" and not _equal(variable, _column(copies, index), 0):
            return failed(START, see(CheckKind.OTHER_START, name=variable.name))
    return passed(START, see(CheckKind.EQUAL_START, replicas=len(copies)))


def check_random(ranks: Sequence[RankObservation]) -> Check:
    found = [(i, v) for i, v in enumerate(ranks[0].variables) if v.kind == "random"]
    for moment in ("start", "end"):
        copies = [getattr(copy, moment) for copy in _copies(ranks)]
        for index, variable in found:
            if len(set(_column(copies, index))) < len(copies):
                return failed(RANDOM, see(CheckKind.SAME_RANDOM, name=variable.name))
    if not found:
        return passed(RANDOM, see(CheckKind.NO_RANDOM))
    return passed(RANDOM, see(CheckKind.OWN_RANDOM))


def check_equal(ranks: Sequence[RankObservation], steps: int) -> Check:
    copies = _copies(ranks)
    ends = [copy.end for copy in copies]
    for index, variable in enumerate(ranks[0].variables):
        if variable.kind != "random" and not variable.apart:
            column = _column(ends, index)
            if not _equal(variable, column, steps):
                return failed(EQUAL, _drift(variable, column, _begun(copies[0], index), steps))
    return passed(EQUAL, see(CheckKind.EQUAL_REPLICAS, replicas=len(copies), steps=steps))


def check_places(ranks: Sequence[RankObservation]) -> Check:
    """Return whether every variable has a copy on each replica, if any has."""
    for rank in ranks:
        kept = [v for v in rank.variables if v.kind != "random"]
        most = max((v.copies for v in kept), default=1)
        mirrored = any(v.mirrored for v in kept)
        for variable in kept:
            if variable.copies < most or variable.mirrored is not mirrored:
                return failed(PLACES, see(CheckKind.OUTSIDE_SCOPE, name=variable.name))
    return passed(PLACES, see(CheckKind.ON_ALL_REPLICAS))


def _drift(
    variable: Variable, column: Sequence[Numbers], begun: Numbers | None, steps: int
) -> Seen:
    apart = max(math.dist(column[0], each) for each in column)
    moved = math.dist(column[0], begun) if begun else math.hypot(*column[0])
    if not moved:
        return see(CheckKind.DIVERGED_UNMOVED, steps=steps, name=variable.name)
    return see(CheckKind.DIVERGED, steps=steps, name=variable.name, share=apart / moved)


def _equal(variable: Variable, column: Sequence[Numbers], steps: int) -> bool:
    """Whether copies are equal, up to the roundings of different machines."""
    if len(set(column)) == 1:
        return True
    most = PROCESSORS * steps * variable.epsilon * max(math.hypot(*each) for each in column)
    return max(math.dist(column[0], each) for each in column) <= most


def _begun(copy: Copy, index: int) -> Numbers | None:
    return copy.start[index] if index < len(copy.start) else None


def _copies(ranks: Sequence[RankObservation]) -> list[Copy]:
    return [copy for rank in ranks for copy in rank.copies]


def _column(copies: Sequence[Sequence[Numbers]], index: int) -> list[Numbers]:
    return [copy[index] for copy in copies]
