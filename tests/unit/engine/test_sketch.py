"""A few numbers keep the distances between many."""

import math

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from autotune.engine.child.observe import BUCKETS, sketch

Values = arrays(np.float32, st.integers(0, 100), elements=st.floats(-8, 8, width=32))


@given(Values)
def test_equal_values_have_equal_sketches(values: np.ndarray) -> None:
    assert sketch(values) == sketch(values.copy().reshape(1, -1))
    assert len(sketch(values)) == BUCKETS


def test_a_distance_is_kept() -> None:
    draw = np.random.default_rng(1)
    one, change = draw.normal(size=(2, 3_000_000)).astype(np.float32)
    apart = math.dist(sketch(one), sketch(one + 0.1 * change))
    assert 0.5 < apart / np.linalg.norm(0.1 * change) < 2


def test_a_single_changed_number_shows() -> None:
    """One number among a million changes the sketch by as much."""
    values = np.zeros(1_000_000)
    other = values.copy()
    other[123_456] = 0.5
    assert math.isclose(math.dist(sketch(values), sketch(other)), 0.5)
