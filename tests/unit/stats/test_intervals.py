"""Intervals and the decisions built on them."""

import math

import pytest
from hypothesis import given, strategies as st

from autotune.stats.intervals import (
    Interval,
    Noise,
    mean_rate,
    rate_with_error,
    share,
    squared_residuals,
    times,
    unpaired_ratio,
)

rates = st.floats(min_value=0.1, max_value=1e6)
NOISE = Noise(sd=0.08, degrees=10)


@given(st.lists(rates, min_size=1, max_size=8), st.floats(min_value=1e-3, max_value=1e3))
def test_mean_scales_with_its_unit(values: list[float], unit: float) -> None:
    plain, scaled = mean_rate(values, NOISE), mean_rate([v * unit for v in values], NOISE)
    assert scaled.low == pytest.approx(plain.low * unit)
    assert scaled.high == pytest.approx(plain.high * unit)


def test_residuals_are_around_the_mean_of_each_group() -> None:
    """A group of one run has none."""
    assert squared_residuals([[1.0, 3.0], [5.0], [2.0, 2.0, 5.0]]) == (2.0 + 6.0, 1 + 2)


def test_the_interval_of_a_mean_is_students() -> None:
    found = mean_rate([90.0, 100.0, 110.0, 120.0], NOISE)
    half = 2.228139 * NOISE.sd / 2
    assert found.high / found.value == pytest.approx(math.exp(half))
    assert found.value / found.low == pytest.approx(math.exp(half))


def test_an_interval_is_no_surer_than_the_noise_behind_it() -> None:
    """Where little is known of the noise, as good as all of it comes from the same runs.

    That of a single run comes from the noise between runs.
    """
    single = mean_rate([100.0], NOISE)
    assert single.value == pytest.approx(100)
    assert single.high / single.low > math.exp(4 * NOISE.sd)
    runs = [99.0, 100.0, 101.0]
    vague, known = (mean_rate(runs, Noise(sd=0.02, degrees=each)) for each in (3.0, 30.0))
    assert vague.high / vague.low > known.high / known.low


def test_a_ratio_has_the_errors_of_both() -> None:
    one = Interval(low=math.exp(-0.3), value=1.0, high=math.exp(0.3))
    other = Interval(low=2 * math.exp(-0.4), value=2.0, high=2 * math.exp(0.4))
    ratio = unpaired_ratio(one, other)
    assert (ratio.low, ratio.value) == pytest.approx((0.5 * math.exp(-0.5), 0.5))
    assert ratio.high == pytest.approx(0.5 * math.exp(0.5))


def test_seconds_are_an_amount_by_a_rate() -> None:
    found = Interval(low=10.0, value=20.0, high=50.0)
    assert found.under(100.0) == Interval(low=2.0, value=5.0, high=10.0)
    assert found.down_to(0.5) == Interval(low=5.0, value=20.0, high=50.0)
    assert str(found) == "20 (10 to 50)"


def test_an_interval_in_words() -> None:
    """A figure comes with its uncertainty; one beyond a factor of ten is not known yet."""
    interval = Interval(low=90, value=100, high=120)
    assert rate_with_error(interval) == "100 ±20%"
    assert share(Interval(low=1.2, value=1.34, high=1.5)) == "1.34 (1.20 to 1.50)"
    assert share(Interval(low=1, value=1, high=1)) == "1.00"
    assert share(None) == "-"
    for low, high in [(0.01, 200.0), (1.3, 14635.0), (0.1, 1.4)]:
        interval = Interval(low=low, value=1.34, high=high)
        assert share(interval) == "1.34 (not known yet)"
        assert times(interval) == "1.34 times (not known yet)"
        assert rate_with_error(interval) == "1.34 (not known yet)"
