"""Sums of timings as shares, and the noise that rounds of them show."""

from __future__ import annotations

import math

import pytest

from autotune.checks.amounts import learned, share
from autotune.checks.experiment import Experiment
from autotune.stats import EXPECTED, Noise

STEP, HELD = Experiment.STEP, Experiment.HELD
INPUT = {STEP: 1, HELD: -1}
STEADY = [{STEP: 10.0, HELD: 4.0}, {STEP: 20.0, HELD: 8.0}, {STEP: 40.0, HELD: 16.0}]
"""A machine that becomes slower, and nothing else."""


def test_what_a_round_has_in_common_is_no_noise() -> None:
    """Ratios that agree make it smaller, however slow the machine becomes; others larger."""
    found = learned(STEADY, EXPECTED)
    assert found.degrees == EXPECTED.degrees + 2
    assert found.sd == pytest.approx(EXPECTED.sd * math.sqrt(4 / 6))
    restless = [{STEP: 10.0, HELD: 4.0}, {STEP: 10.0, HELD: 8.0}]
    assert learned(restless, EXPECTED).sd > 2 * EXPECTED.sd


def test_a_lone_step_says_nothing_and_takes_nothing_away() -> None:
    """The time may end after the first run of a round."""
    assert learned([*STEADY, {STEP: 1.0}], EXPECTED) == learned(STEADY, EXPECTED)
    assert learned(STEADY[:1], EXPECTED) == learned([], EXPECTED) == EXPECTED


def test_a_share_is_of_rounds_that_have_all_its_terms() -> None:
    """Runs of different rounds are never compared; a share that is nearly all is nearly sure."""
    lacking = [{STEP: 10.0}, {HELD: 1.0}]
    assert share(INPUT, lacking, EXPECTED, of=STEP) is None
    whole = share(INPUT, [*lacking, *STEADY], EXPECTED, of=STEP)
    assert whole
    assert whole.value == pytest.approx(0.6)
    found = share(INPUT, [{STEP: 0.1, HELD: 0.001}], Noise(sd=0.1, degrees=50), of=STEP)
    assert found
    assert found.high - found.low < 0.01
