"""What an A/A test says of machines whose noise is known."""

from __future__ import annotations

import math
import random

import pytest

from autotune import NothingMeasured, Outcome
from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.options import SearchOptions
from autotune.reason import Killed
from autotune.search.verdict import FALSE_RATE, LAST_LOOK, MAX_ROUNDS
from autotune.stats import Noise, paired_ratio
from autotune.testing import FAKE_FACTS, Ending, FakeEngine
from autotune.verification.aa_test import POWER, AATest, aa_test, built_in, smallest_gain


def checkup(between: float = 0.08, *, seed: int = 0, seconds: float = 300) -> AATest:
    engine = FakeEngine(lambda _: 1000.0, between=between, within=0.03, seed=seed)
    return aa_test(engine, options=SearchOptions(budget=seconds, seed=seed))


def test_the_noise_of_a_machine_is_found() -> None:
    """Between runs within its interval, within a run closely, and the A/A ratio is one."""
    found = checkup()
    assert found.between.low < 0.08 < found.between.high
    assert found.within == pytest.approx(0.03, rel=0.1)
    assert found.sound
    assert found.examples_per_second.low < 1000 < found.examples_per_second.high


def test_the_interval_of_the_noise_covers_it() -> None:
    """In about nineteen of twenty checks."""
    found = [checkup(seed=seed, seconds=45).between for seed in range(60)]
    assert 51 <= sum(each.low < 0.08 < each.high for each in found) <= 60


def test_the_same_is_compared_with_the_same() -> None:
    """One configuration in fresh runs, Keras's own, until the time is spent."""
    engine = FakeEngine(lambda _: 1000.0)
    found = aa_test(engine, options=SearchOptions(budget=45))
    assert {request.configuration for request in engine.requests} == {Configuration()}
    assert {request.workload for request in engine.requests} == {built_in()}
    assert found.runs == 2 * found.pairs == len(engine.requests)
    assert 35 < found.seconds <= 45


def test_what_a_time_can_show_follows_from_noise_and_cost() -> None:
    """As many pairs as fit, up to what a search makes; more time or less noise shows more."""
    found = checkup()
    assert [each.pairs for each in found.resolutions] == [
        min(int(seconds / found.pair_seconds), MAX_ROUNDS) for seconds in (60, 180, 600)
    ]
    gains = [each.gain or 0.0 for each in found.resolutions]
    assert gains == sorted(gains, reverse=True)
    quiet = checkup(0.02).resolutions[0].gain
    assert quiet is not None
    assert 0 < quiet < gains[0] / 2


@pytest.mark.parametrize("pairs", [4, 8, 30])
def test_the_smallest_gain_is_found_as_often_as_is_said(pairs: int) -> None:
    """Simulated comparisons of just that gain say so in about 80 % of cases."""
    draw, sd, hits = random.Random(pairs), 0.06, 0
    gain = smallest_gain(sd, pairs)
    assert gain is not None
    for _ in range(1500):
        mine = [(1 + gain) * math.exp(draw.gauss(0, sd)) for _ in range(pairs)]
        theirs = [math.exp(draw.gauss(0, sd)) for _ in range(pairs)]
        confidence = 1 - 2 * FALSE_RATE * LAST_LOOK
        known = Noise(sd=sd, degrees=50)
        hits += paired_ratio(mine, theirs, known, confidence=confidence).low > 1
    assert hits / 1500 == pytest.approx(POWER, abs=0.05)


def test_too_few_pairs_show_nothing() -> None:
    """A verdict needs three."""
    assert smallest_gain(0.01, 2) is None
    assert smallest_gain(0.01, 3)


def test_a_small_dataset_is_a_batch_by_itself() -> None:
    """The user's own workload may hold fewer examples than Keras's batch."""
    few = FAKE_FACTS.model_copy(update={"examples": 20})
    engine = FakeEngine(lambda _: 1000.0, facts=few)
    found = aa_test(engine, built_in(), options=SearchOptions(budget=30))
    assert found.configuration.per_replica_batch == 20


def test_other_programs_are_told_of() -> None:
    """What they took between the first run and the last, where the machine can be looked at."""
    taken = Load(seconds=10.0, cores=2, busy=0.5, stolen=0.0, busiest="python (pid 7)")
    loads = iter([None, taken])
    engine = FakeEngine(lambda _: 1000.0, load=lambda: next(loads))
    load = aa_test(engine, options=SearchOptions(budget=45)).other_load
    assert load is not None
    assert (load.busy, load.cores, load.noticeable) == (0.5, 2, True)
    assert load.busiest == "python (pid 7)"
    assert checkup(seconds=45).other_load is None


def test_a_workload_that_does_not_run_is_named() -> None:
    """After two rounds there is no hope, and the error says why."""
    crash = Ending(outcome=Outcome.CRASHED, reason=Killed(signal=11))
    engine = FakeEngine(lambda _: crash)
    with pytest.raises(NothingMeasured, match="killed by SIGSEGV"):
        aa_test(engine)
    assert len(engine.requests) == 4


def test_too_little_time_is_named() -> None:
    """Two pairs are the least."""
    with pytest.raises(NothingMeasured, match="Increase --seconds"):
        aa_test(FakeEngine(lambda _: 1000.0), options=SearchOptions(budget=8))
