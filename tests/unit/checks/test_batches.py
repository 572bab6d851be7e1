"""Batches that differ between replicas are found."""

from __future__ import annotations

import pytest

from autotune.checks.certificate import Finding
from autotune.checks.examples import check_elements, check_sizes
from autotune.engine.observation import Reader


def reader(*sizes: int, elements: tuple[str, ...] = ("float32 [8]",)) -> Reader:
    return Reader(sizes=sizes, elements=elements, examples={})


def test_equal_batches_pass() -> None:
    """The size that was asked for, everywhere and always, is right."""
    assert check_sizes([reader(4, 4), reader(4, 4)], 4).finding is Finding.PASSED


@pytest.mark.parametrize(("size", "words"), [(3, "a batch of 3"), (0, "an empty batch")])
def test_another_size_on_one_replica_fails(size: int, words: str) -> None:
    """One batch of another size is enough, and the sentence says which."""
    check = check_sizes([reader(4, 4), reader(4, size)], 4)
    assert check.finding is Finding.FAILED
    assert check.sentence.startswith(f"Replica 1 got {words} in step 2")


def test_unknown_sizes_decide_nothing() -> None:
    """Ragged batches are not measured."""
    assert check_sizes([reader(), reader()], 4).finding is Finding.UNDECIDED


def test_another_type_on_one_replica_fails() -> None:
    """Structure, type and shape have to be the same."""
    check = check_elements([reader(4), reader(4, elements=("float64 [8]",))])
    assert check.finding is Finding.FAILED
    assert "float64 [8]" in check.sentence


def test_sequences_of_changing_length_pass() -> None:
    """Where lengths change from batch to batch, they may differ between replicas."""
    one = reader(4, 4, elements=("float32 [7]", "float32 [9]"))
    other = reader(4, 4, elements=("float32 [8]",))
    assert check_elements([one, other]).finding is Finding.PASSED
