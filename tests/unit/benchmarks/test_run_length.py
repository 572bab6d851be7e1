"""How runs of some seconds scatter, and what that costs."""

from __future__ import annotations

import math

import pytest

from autotune.config import Configuration
from autotune.plain import Window
from autotune.search.stopping import PATIENCE
from benchmarks.run_length.bench import SECONDS, Arm, Reading, first_seconds, worth

ONE = Configuration(per_replica_batch=32)


def arm(*scatters: float, around: float = 2.0) -> Arm:
    """Return two runs that lie as far apart as that, for each length."""
    runs = [Reading(around, tuple(sign * each for each in scatters)) for sign in (-1, 1)]
    return Arm(workload="gru", configuration=ONE, runs=runs)


def test_a_run_is_read_as_if_it_had_been_stopped() -> None:
    steady = [Window(10, 0.5), Window(10, 0.5), Window(1, 9.0)]
    assert first_seconds(steady, 0.8) == pytest.approx(math.log(20))


@pytest.mark.parametrize("longer", [1, 0.5])
def test_a_longer_run_is_worth_less_but_for_what_it_scatters_less(longer: float) -> None:
    """By as much as it takes longer; half of the scatter is worth four times the time."""
    found = worth([arm(*[0.05 * (longer if each > PATIENCE else 1) for each in SECONDS])])
    assert found[SECONDS.index(PATIENCE)] == 1
    assert found[SECONDS.index(8.0)] == pytest.approx((2 + 8) / (2 + PATIENCE) * longer**2)
