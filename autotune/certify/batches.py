"""Are the batches of all replicas alike?"""

from __future__ import annotations

from collections.abc import Sequence

from autotune.certificate import Check, failed, passed, undecided
from autotune.run.observation import Reader

SIZES = "equal batch sizes"
ELEMENTS = "equal element specs"


def check_sizes(readers: Sequence[Reader], batch: int) -> Check:
    """Return whether every replica got a batch of the right size in every step.

    Args:
        readers: What each replica got.
        batch: The size that was asked for.
    """
    if not all(reader.sizes for reader in readers):
        return undecided(SIZES, "The size of ragged or sparse batches was not checked.")
    for number, reader in enumerate(readers):
        for step, size in enumerate(reader.sizes):
            if size != batch:
                return failed(SIZES, _of(number, step, int(size), batch))
    steps = min(len(reader.sizes) for reader in readers)
    return passed(SIZES, f"Every replica got {batch} examples in each of {steps} steps.")


def check_elements(readers: Sequence[Reader]) -> Check:
    """Return whether structure, types and shapes are the same for all replicas.

    Sequences may be as long as they like, as long as that changes from batch to batch.
    """
    first = readers[0].elements
    for number, reader in enumerate(readers[1:], start=1):
        steady = len(reader.elements) == len(first) == 1
        if steady and reader.elements != first:
            return failed(
                ELEMENTS,
                f"Replica {number} got {reader.elements[0]}, replica 0 got {first[0]}: the "
                "preprocessing differs.",
            )
    return passed(ELEMENTS, "All replicas got the same structure, dtypes and shapes.")


def _of(number: int, step: int, size: int, batch: int) -> str:
    got = f"a batch of {size}" if size else "an empty batch"
    return f"Replica {number} got {got} in step {step + 1} instead of {batch} examples."
