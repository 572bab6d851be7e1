"""Do the replicas read examples of their own, in batches that are alike?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from autotune.checks.certificate import Check, failed, passed, see, undecided
from autotune.engine.tasks.observe import Reader, Whole
from autotune.reason import CheckKind

NAME = "disjoint examples"
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
        return undecided(NAME, see(CheckKind.NOT_COMPARABLE))
    total = sum(each.total() for each in counts)
    if not _shared(counts):
        if repeatable or _is_stable(counts, whole):
            return passed(
                NAME, see(CheckKind.DISJOINT, replicas=len(counts), units=units, total=total)
            )
        return undecided(NAME, see(CheckKind.CHANGING, units=units))
    return _check_shared(counts, whole, units)


def _check_shared(counts: Sequence[Counter[str]], whole: Whole | None, units: str) -> Check:
    total = sum(each.total() for each in counts)
    if whole is None or not whole.complete:
        return _guess(counts, units)
    if total > sum(whole.examples.values()):
        return undecided(NAME, see(CheckKind.MORE_THAN_EPOCH, units=units))
    twice = excess(counts, whole.examples)
    if twice > FEW * total:
        return failed(NAME, see(CheckKind.OVERLAP, units=units, twice=twice, total=total))
    if twice:
        return undecided(NAME, see(CheckKind.FEW_COMMON, units=units, twice=twice, total=total))
    return passed(NAME, see(CheckKind.DUPLICATES, replicas=len(counts), units=units, total=total))


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
    total = sum(each.total() for each in counts)
    repeats = total - sum(len(each) for each in counts)
    twice = excess(counts, {})
    if twice >= MANY * total / len(counts) and repeats <= FEW * total:
        return failed(NAME, see(CheckKind.OVERLAP, units=units, twice=twice, total=total))
    return undecided(NAME, see(CheckKind.MAYBE_DUPLICATES, units=units, twice=twice, total=total))


def _is_stable(counts: Sequence[Counter[str]], whole: Whole | None) -> bool:
    """Whether a pass of one device has found what the replicas read, if in another order."""
    if whole is None or not whole.complete:
        return False
    read = sum(each.total() for each in counts)
    known = sum(n for each in counts for example, n in each.items() if example in whole.examples)
    return known >= (1 - FEW) * read


def _shared(counts: Sequence[Counter[str]]) -> list[str]:
    readers = Counter(example for each in counts for example in each)
    return [example for example, number in readers.items() if number > 1]


def _counts(readers: Sequence[Reader]) -> list[Counter[str]] | None:
    found = [Counter(each.examples) for each in readers if each.examples is not None]
    return found if len(found) == len(readers) else None


SIZES = "equal batch sizes"
ELEMENTS = "equal element specs"


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
