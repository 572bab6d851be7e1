"""Do the replicas start equal, stay equal, and read and draw what is their own?"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from autotune.base import Scalar
from autotune.checks.certificate import Check, failed, passed, see, undecided
from autotune.engine.tasks import Copy, Numbers, RankObservation, Reader, Variable, Whole
from autotune.reason import CheckKind

EXAMPLES = "disjoint examples"
SIZES = "equal batch sizes"
ELEMENTS = "equal element specs"
START = "equal initial weights"
RANDOM = "independent random numbers"
EQUAL = "equal replicas"
PLACES = "variables on all replicas"
PROCESSORS = 8.0
"""Roundings, in a step, by which machines of different kinds may differ: they add up in another
order. Copies on machines of one kind are equal to the last bit."""
FEW = 0.01
"""Share of the examples below which reading one twice may be a matter of the order."""
MANY = 0.5
"""Share of what is read; nothing but overlap explains so many where duplicates are rare."""


def needs_whole(readers: Sequence[Reader], *, repeatable: bool) -> bool:
    """Whether the question can be answered only with all examples of the dataset at hand."""
    counts = _counts(readers)
    return counts is not None and (not repeatable or bool(_shared(counts)))


def check_examples(
    readers: Sequence[Reader], whole: Whole | None, *, repeatable: bool, units: str = "replicas"
) -> Check:
    """Return whether replicas have read the same examples.

    An example that stands in the dataset more than once may be read as often; so what the replicas
    read together is compared with what one device reads in a pass. What a single replica reads
    again, because its share is small, is no overlap.
    """
    counts = _counts(readers)
    if counts is None:
        return undecided(EXAMPLES, see(CheckKind.NOT_COMPARABLE))
    if _shared(counts):
        return _check_shared(counts, whole, units)
    if not repeatable and not _is_stable(counts, whole):
        return undecided(EXAMPLES, see(CheckKind.CHANGING, units=units))
    figures: dict[str, Scalar] = {"replicas": len(counts), "units": units, "total": _total(counts)}
    return passed(EXAMPLES, see(CheckKind.DISJOINT, **figures))


def _check_shared(counts: Sequence[Counter[str]], whole: Whole | None, units: str) -> Check:
    total = _total(counts)
    if whole is None or not whole.complete:
        return _guess(counts, units)
    if total > sum(whole.examples.values()):
        return undecided(EXAMPLES, see(CheckKind.MORE_THAN_EPOCH, units=units))
    twice = excess(counts, whole.examples)
    figures: dict[str, Scalar] = {"units": units, "twice": twice, "total": total}
    if twice > FEW * total:
        return failed(EXAMPLES, see(CheckKind.OVERLAP, **figures))
    if twice:
        return undecided(EXAMPLES, see(CheckKind.FEW_COMMON, **figures))
    return passed(EXAMPLES, see(CheckKind.DUPLICATES, replicas=len(counts), **figures))


def excess(counts: Sequence[Counter[str]], there: Mapping[str, int]) -> int:
    """Return how many examples were read by one replica although another had them already.

    One that is missing in the dataset, `there`, is taken to stand there once, as a random variant
    that several replicas draw alike.
    """
    found = 0
    for example in _shared(counts):
        most = there.get(example, 1)
        found += max(sum(min(each[example], most) for each in counts) - most, 0)
    return found


def _guess(counts: Sequence[Counter[str]], units: str) -> Check:
    """Check without the whole dataset: duplicates would show within a replica as well."""
    total, twice = _total(counts), excess(counts, {})
    repeats = total - sum(len(each) for each in counts)
    figures: dict[str, Scalar] = {"units": units, "twice": twice, "total": total}
    if twice >= MANY * total / len(counts) and repeats <= FEW * total:
        return failed(EXAMPLES, see(CheckKind.OVERLAP, **figures))
    return undecided(EXAMPLES, see(CheckKind.MAYBE_DUPLICATES, **figures))


def _total(counts: Sequence[Counter[str]]) -> int:
    return sum(each.total() for each in counts)


def _is_stable(counts: Sequence[Counter[str]], whole: Whole | None) -> bool:
    """Whether a pass of one device has found what the replicas read, if in another order."""
    if whole is None or not whole.complete:
        return False
    known = sum(n for each in counts for example, n in each.items() if example in whole.examples)
    return known >= (1 - FEW) * _total(counts)


def _shared(counts: Sequence[Counter[str]]) -> list[str]:
    readers = Counter(example for each in counts for example in each)
    return [example for example, number in readers.items() if number > 1]


def _counts(readers: Sequence[Reader]) -> list[Counter[str]] | None:
    found = [Counter(each.examples) for each in readers if each.examples is not None]
    return found if len(found) == len(readers) else None


def check_sizes(readers: Sequence[Reader], batch: int) -> Check:
    if not all(reader.sizes for reader in readers):
        return undecided(SIZES, see(CheckKind.SIZES_UNKNOWN))
    for number, reader in enumerate(readers):
        for step, size in enumerate(reader.sizes):
            if size != batch:
                kind = CheckKind.OTHER_SIZE if size else CheckKind.EMPTY_BATCH
                where = {"replica": number, "step": step + 1}
                return failed(SIZES, see(kind, size=int(size), batch=batch, **where))
    steps = min(len(reader.sizes) for reader in readers)
    return passed(SIZES, see(CheckKind.EQUAL_SIZES, batch=batch, steps=steps))


def check_elements(readers: Sequence[Reader]) -> Check:
    """Return whether structure, types and shapes are the same for all replicas.

    Sequences may be as long as they like, as long as that changes from batch to batch.
    """
    first = readers[0].elements
    for number, reader in enumerate(readers[1:], start=1):
        steady = len(reader.elements) == len(first) == 1
        if steady and reader.elements != first:
            both = {"mine": reader.elements[0], "first": first[0]}
            return failed(ELEMENTS, see(CheckKind.OTHER_ELEMENTS, replica=number, **both))
    return passed(ELEMENTS, see(CheckKind.EQUAL_ELEMENTS))


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
    return passed(RANDOM, see(CheckKind.OWN_RANDOM if found else CheckKind.NO_RANDOM))


def check_equal(ranks: Sequence[RankObservation], steps: int) -> Check:
    copies = _copies(ranks)
    ends = [copy.end for copy in copies]
    for index, variable in enumerate(ranks[0].variables):
        if variable.kind == "random" or variable.apart:
            continue
        column = _column(ends, index)
        if _equal(variable, column, steps):
            continue
        begun = copies[0].start[index] if index < len(copies[0].start) else None
        apart = max(math.dist(column[0], each) for each in column)
        moved = max(math.dist(each, begun) if begun else math.hypot(*each) for each in column)
        share = apart / (moved or math.inf)  # Zero where one that is not finite stands beside it.
        name = variable.name
        return failed(EQUAL, see(CheckKind.DIVERGED, steps=steps, name=name, share=share))
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


def _equal(variable: Variable, column: Sequence[Numbers], steps: int) -> bool:
    """Whether copies are equal, up to the roundings of different machines."""
    if len(set(column)) == 1:
        return True
    most = PROCESSORS * steps * variable.epsilon * max(math.hypot(*each) for each in column)
    return max(math.dist(column[0], each) for each in column) <= most


def _copies(ranks: Sequence[RankObservation]) -> list[Copy]:
    return [copy for rank in ranks for copy in rank.copies]


def _column(copies: Sequence[Sequence[Numbers]], index: int) -> list[Numbers]:
    return [copy[index] for copy in copies]
