"""Intervals and the decisions built on them."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings, strategies as st

from autotune.plain import Window
from autotune.stats import (
    EXPECTED,
    Interval,
    Noise,
    certainly_slower,
    expectation,
    mean_rate,
    paired_ratio,
    pooled_noise,
    read,
    root_mean_square,
)

rates = st.floats(min_value=0.1, max_value=1e6)
NOISE = Noise(sd=0.08, degrees=10)
UNHURRIED = settings(deadline=None)
"""The first quantile imports scipy."""


@UNHURRIED
@given(st.lists(rates, min_size=2, max_size=8), st.floats(min_value=1e-3, max_value=1e3))
def test_ratio_ignores_units(values: list[float], unit: float) -> None:
    """Measuring both in another unit changes nothing."""
    other = list(reversed(values))
    plain = paired_ratio(values, other, NOISE)
    scaled = paired_ratio([v * unit for v in values], [v * unit for v in other], NOISE)
    assert scaled.low == pytest.approx(plain.low)
    assert scaled.high == pytest.approx(plain.high)


@UNHURRIED
@given(st.lists(st.tuples(rates, rates), min_size=2, max_size=8))
def test_ratio_turned_around_is_the_inverse(pairs: list[tuple[float, float]]) -> None:
    """How much faster A is than B is one over how much faster B is than A."""
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    forward, back = paired_ratio(a, b, NOISE), paired_ratio(b, a, NOISE)
    assert forward.value == pytest.approx(1 / back.value)
    assert forward.low == pytest.approx(1 / back.high)


@pytest.mark.parametrize("rounds", [3, 6, 12])
@pytest.mark.parametrize("sd", [0.03, 0.08, 0.15])
def test_ratio_covers_the_truth(rounds: int, sd: float) -> None:
    """The 95 % interval holds the truth in at least 91 % of simulated comparisons.

    On a quiet machine it holds it more often, because few repeats do not outweigh the expectation.
    """
    draw = random.Random(rounds)
    hits = 0
    for _ in range(1500):
        repeats = [[draw.gauss(0, sd) for _ in range(2)] for _ in range(4)]
        runs = [[math.exp(draw.gauss(0, sd)) for _ in range(rounds)] for _ in range(2)]
        # What is compared counts for the noise as well.
        own = [[math.log(rate) for rate in each] for each in runs]
        interval = paired_ratio(runs[0], runs[1], pooled_noise([*repeats, *own]))
        hits += interval.low <= 1 <= interval.high
    assert hits / 1500 >= 0.91


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
@given(st.floats(min_value=0.01, max_value=0.99))
def test_slower_runs_are_pruned_sooner(share: float) -> None:
    """If a run is pruned, every slower run is."""
    reading = read([Window(10, 0.1)] * 5)
    fast = certainly_slower(share * 100, reading, [100.0], NOISE, analyses=3)
    slow = certainly_slower(share * 50, reading, [100.0], NOISE, analyses=3)
    assert fast is None or slow is not None


def test_equal_runs_are_hardly_ever_pruned() -> None:
    """An equal configuration is pruned in at most 1.5 % of simulated runs."""
    draw = random.Random(1)
    reading = read([Window(10, 0.1)] * 5)
    pruned = 0
    for _ in range(4000):
        noise = pooled_noise([[draw.gauss(0, 0.1) for _ in range(2)] for _ in range(2)])
        run, reference = (math.exp(draw.gauss(0, 0.1)) for _ in range(2))
        pruned += certainly_slower(run, reading, [reference], noise, analyses=1) is not None
    assert pruned / 4000 <= 0.015


@UNHURRIED
@given(
    st.lists(st.tuples(rates, rates), min_size=2, max_size=8),
    st.floats(min_value=0.5, max_value=0.98),
)
def test_more_confidence_is_a_wider_interval(
    pairs: list[tuple[float, float]], confidence: float
) -> None:
    """Whoever wants to be surer has to allow for more."""
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    narrow = paired_ratio(a, b, NOISE, confidence=confidence)
    wide = paired_ratio(a, b, NOISE, confidence=confidence + 0.01)
    assert wide.low < narrow.low <= narrow.value <= narrow.high < wide.high


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


def test_noise_of_two_is_known_as_well_as_the_larger() -> None:
    """Where they are alike, both tell of it."""
    small, large = Noise(sd=0.01, degrees=40.0), Noise(sd=0.2, degrees=5.0)
    assert root_mean_square(small, large).degrees == pytest.approx(5.0, rel=0.01)
    assert root_mean_square(large, large) == Noise(sd=0.2, degrees=10.0)


@UNHURRIED
@given(st.lists(st.lists(st.floats(-1, 1), min_size=2, max_size=5), min_size=1, max_size=5))
def test_noise_ignores_the_level(groups: list[list[float]]) -> None:
    """How fast a configuration is says nothing about how much its runs scatter."""
    moved = [[each + 3.0 * index for each in group] for index, group in enumerate(groups)]
    assert pooled_noise(moved).sd == pytest.approx(pooled_noise(groups).sd)


def test_a_machines_past_can_only_warn_while_exploring() -> None:
    """A noisy past is believed; whoever expects too little noise stops good runs early."""
    assert expectation(Noise(sd=0.12, degrees=500)).exploring.sd == 0.12
    assert expectation(Noise(sd=0.01, degrees=500)).exploring == EXPECTED
    assert expectation(None).exploring == EXPECTED


def test_a_quiet_past_helps_the_finals_until_they_know_better() -> None:
    """Two repeats of today weigh as much as all that was."""
    past = expectation(Noise(sd=0.02, degrees=500)).finals
    assert past.sd == 0.02
    today = pooled_noise([[0.0, 0.3], [0.0, 0.3]], past)
    assert today.sd == pytest.approx(0.15, abs=0.01)


def test_an_independent_error_widens_an_interval() -> None:
    """Widths of independent errors add as squares, each side for itself."""
    found = Interval(low=math.exp(-0.3), value=1.0, high=math.exp(0.4))
    wider = found.widened(0.4 / 1.959964)
    assert math.log(wider.low) == pytest.approx(-0.5)
    assert math.log(wider.high) == pytest.approx(math.hypot(0.4, 0.4))
    assert found.widened(0) == found
