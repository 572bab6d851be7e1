"""Sums of gradients against a mean and a covariance that are known."""

import math

import numpy as np
import pytest

from autotune.learning.efficiency import BATCHES, GradientProbe
from autotune.learning.gradients import FEWEST, GradientSums

ELEMENTS = 400
MEAN = np.linspace(0.0, 0.1, ELEMENTS)
SD = np.linspace(1.0, 2.0, ELEMENTS)
BATCH = 32


def probed(micro_batches: int, seed: int = 0) -> GradientProbe:
    draw, sums = np.random.default_rng(seed), GradientSums(ELEMENTS, BATCH)
    for _ in range(micro_batches):
        sums.add(draw.normal(MEAN, SD / math.sqrt(BATCH)))
    return sums.probe(step=100)


def test_the_trace_is_that_of_one_example() -> None:
    assert probed(256).whole.trace == pytest.approx((SD**2).sum(), rel=0.02)


def test_the_square_has_no_bias() -> None:
    """Over many probes the square of the mean comes out right, though each is mostly noise."""
    squares = [probed(FEWEST, seed).whole.square for seed in range(300)]
    error = np.std(squares) / math.sqrt(len(squares))
    assert abs(np.mean(squares) - (MEAN**2).sum()) < 4 * error


def test_progress_grows_with_the_batch_up_to_that_without_noise() -> None:
    """A larger batch makes more progress in a step, up to that of a gradient without noise."""
    progress = dict(zip(BATCHES, probed(4096).whole.progress, strict=True))
    assert progress[1] < progress[32] < progress[1024]
    truth = (MEAN**2 / np.sqrt(MEAN**2 + SD**2 / 64)).sum()
    assert progress[64] == pytest.approx(truth, rel=0.05)


def test_too_few_finite_ones_tell_nothing() -> None:
    """Two micro-batches in each group are needed, and one that overflowed is not counted."""
    sums = GradientSums(2, BATCH)
    sums.add([1.0, math.inf])
    assert len(sums) == 0
    for _ in range(FEWEST - 1):
        sums.add([1.0, 2.0])
    assert sums.probe(step=1) is None
