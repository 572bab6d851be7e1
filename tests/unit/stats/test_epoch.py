"""How far the lengths that a run has seen are from those of all examples."""

from __future__ import annotations

import math
import random
from statistics import fmean, pstdev

import pytest

from autotune.stats import Lengths

SORTED = tuple(float(length) for length in range(10, 26))


def test_examples_of_one_length_add_nothing() -> None:
    """Nor does one part, of which no scatter is known."""
    assert Lengths().error(5) == 0
    assert Lengths(parts=(7.0,), steps=10).error(5) == 0


def test_a_run_over_whole_epochs_adds_nothing() -> None:
    """It has seen all lengths."""
    lengths = Lengths(parts=SORTED, scatter=0.3, steps=10, whole=True)
    assert lengths.error(160) == pytest.approx(0, abs=1e-12)
    assert lengths.error(1000) == pytest.approx(0, abs=1e-12)


def test_a_part_of_sorted_examples_says_little_of_the_others() -> None:
    """Where independent parts would scatter half as much, a quarter of these does by a lot more."""
    lengths = Lengths(parts=SORTED, scatter=0.3, steps=10, whole=True)
    parts = pstdev(SORTED) / fmean(SORTED)
    assert lengths.error(10) == pytest.approx(parts)
    assert 0.7 * parts < lengths.error(40) < parts


def test_an_epoch_without_an_end_is_taken_for_shuffled() -> None:
    """Nobody knows what comes, so the error falls with the root of what was seen."""
    lengths = Lengths(parts=SORTED, scatter=0.3, steps=10)
    assert lengths.error(40) == pytest.approx(lengths.error(10) / 2)


def test_no_run_is_further_off_than_a_single_length() -> None:
    """Where examples are sorted, a few of them do not scatter more than one does."""
    assert Lengths(parts=SORTED, scatter=0.3, steps=1000, whole=True).error(1) == 0.3


@pytest.mark.parametrize("steps", [5, 40, 100])
def test_runs_over_shuffled_examples_scatter_as_told(steps: int) -> None:
    """Against runs that are drawn: at random places of epochs in random order."""
    random.seed(steps)
    told, seen = [], []
    for _ in range(400):
        examples = [random.lognormvariate(3, 0.5) for _ in range(320)]
        parts = tuple(fmean(examples[i : i + 20]) for i in range(0, 320, 20))
        told.append(Lengths(parts=parts, scatter=1.0, steps=20, whole=True).error(steps))
        begin = random.randrange(320)
        stretch = (examples + examples)[begin : begin + steps]
        seen.append(math.log(fmean(stretch) / fmean(examples)))
    assert fmean(told) == pytest.approx(pstdev(seen), rel=0.2)
