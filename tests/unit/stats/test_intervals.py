"""Intervals and the decisions built on them."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings, strategies as st

from autotune.stats import (
    EXPECTED,
    Interval,
    Noise,
    mean_rate,
    pooled_noise,
)

rates = st.floats(min_value=0.1, max_value=1e6)
NOISE = Noise(sd=0.08, degrees=10)
UNHURRIED = settings(deadline=None)
"""The first quantile imports scipy."""


def test_noise_is_learned_from_repeats() -> None:
    """Many repeats outweigh the expectation."""
    draw = random.Random(0)
    groups = [[draw.gauss(5, 0.02) for _ in range(5)] for _ in range(40)]
    assert pooled_noise(groups).sd == pytest.approx(0.02, abs=0.02)
    assert pooled_noise([]).sd == pytest.approx(EXPECTED.sd)


def test_mean_of_one_run_is_as_wide_as_the_noise() -> None:
    """A single run's interval comes from the noise between runs."""
    interval = mean_rate([100.0], NOISE)
    assert interval.value == pytest.approx(100)
    assert interval.high / interval.low > math.exp(4 * NOISE.sd)


@UNHURRIED
@given(st.lists(rates, min_size=1, max_size=8), st.floats(min_value=1e-3, max_value=1e3))
def test_mean_scales_with_its_unit(values: list[float], unit: float) -> None:
    """Examples per minute are sixty times examples per second, bounds included."""
    plain, scaled = mean_rate(values, NOISE), mean_rate([v * unit for v in values], NOISE)
    assert scaled.low == pytest.approx(plain.low * unit)
    assert scaled.high == pytest.approx(plain.high * unit)


def test_an_interval_is_no_surer_than_the_noise_behind_it() -> None:
    """Where little is known of the noise, as good as all of it comes from the same runs."""
    runs = [99.0, 100.0, 101.0]
    vague, known = (mean_rate(runs, Noise(sd=0.02, degrees=each)) for each in (3.0, 30.0))
    assert vague.high / vague.low > known.high / known.low


@UNHURRIED
@given(st.lists(st.lists(st.floats(-1, 1), min_size=2, max_size=5), min_size=1, max_size=5))
def test_noise_ignores_the_level(groups: list[list[float]]) -> None:
    """How fast a configuration is says nothing about how much its runs scatter."""
    moved = [[each + 3.0 * index for each in group] for index, group in enumerate(groups)]
    assert pooled_noise(moved).sd == pytest.approx(pooled_noise(groups).sd)


def test_an_independent_error_widens_an_interval() -> None:
    """Widths of independent errors add as squares, each side for itself."""
    found = Interval(low=math.exp(-0.3), value=1.0, high=math.exp(0.4))
    wider = found.widened(0.4 / 1.959964)
    assert math.log(wider.low) == pytest.approx(-0.5)
    assert math.log(wider.high) == pytest.approx(math.hypot(0.4, 0.4))
    assert found.widened(0) == found
