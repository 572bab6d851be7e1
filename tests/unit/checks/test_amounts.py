"""Sums of timings as shares, and the noise that rounds of them show."""

from __future__ import annotations

import math

import pytest

from autotune.checks.amounts import learned, share
from autotune.checks.experiment import Experiment
from autotune.stats import EXPECTED, Noise

STEP, HELD = Experiment.STEP, Experiment.HELD
STEADY = [{STEP: 10.0, HELD: 4.0}, {STEP: 20.0, HELD: 8.0}, {STEP: 40.0, HELD: 16.0}]
"""A machine that becomes slower, and nothing else."""


def test_what_a_round_has_in_common_is_no_noise() -> None:
    """Rounds that agree in all ratios make the noise smaller, however slow the machine becomes."""
    found = learned(STEADY, EXPECTED)
    assert found.degrees == EXPECTED.degrees + 2
    assert found.sd == pytest.approx(EXPECTED.sd * math.sqrt(4 / 6))


def test_rounds_that_disagree_make_it_larger() -> None:
    """A ratio that changes between rounds is noise."""
    restless = [{STEP: 10.0, HELD: 4.0}, {STEP: 10.0, HELD: 8.0}]
    assert learned(restless, EXPECTED).sd > 2 * EXPECTED.sd


def test_a_lone_step_says_nothing_and_takes_nothing_away() -> None:
    """The time may end after the first run of a round."""
    assert learned([*STEADY, {STEP: 1.0}], EXPECTED) == learned(STEADY, EXPECTED)
    assert learned(STEADY[:1], EXPECTED) == EXPECTED
    assert learned([], EXPECTED) == EXPECTED


def test_a_share_that_is_nearly_all_is_nearly_sure() -> None:
    """Noise of a tenth leaves no doubt that a step of 100 ms with 1 ms of work is input."""
    noise = Noise(sd=0.1, degrees=50)
    found = share({STEP: 1, HELD: -1}, [{STEP: 0.1, HELD: 0.001}], noise, of=STEP)
    assert found
    assert found.high - found.low < 0.01


def test_rounds_that_lack_a_term_are_left_out() -> None:
    """Runs of different rounds are never compared."""
    terms = {STEP: 1, HELD: -1}
    apart = [{STEP: 10.0}, {HELD: 1.0}]
    assert share(terms, apart, EXPECTED, of=STEP) is None
    whole = share(terms, [*apart, *STEADY], EXPECTED, of=STEP)
    assert whole
    assert whole.value == pytest.approx(0.6)
