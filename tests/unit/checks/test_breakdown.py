"""A step taken apart by what its experiments measured."""

import random

import pytest
from hypothesis import given, strategies as st

from autotune.checks.breakdown import (
    Breakdown,
    Experiment,
    Part,
    Seconds,
    breakdown,
    further,
    telling,
    variant,
)
from autotune.config import Configuration
from autotune.stats.intervals import Interval, Noise

ALONE = Configuration(per_replica_batch=64)
SEVERAL = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)
QUIET = Noise(sd=0.001, degrees=50)
SLOWER = {"step": 15.0, "held": 12.0, "apart": 10.0, "alone": 8.0}
"""Where 3 ms are input, 2 exchange, 2 contention and 8 computing."""

WORKERS = Configuration(
    strategy="multi_worker_mirrored",
    workers=2,
    per_replica_batch=64,
    shard_policy="data",
    reduction="ring",
    steps_per_execution=8,
    intra_op_parallelism_threads=1,
)


def once(milliseconds: dict[str, float]) -> Seconds:
    return {Experiment(name): each / 1000 for name, each in milliseconds.items()}


def apart(
    configuration: Configuration, milliseconds: dict[str, float], noise: Noise = QUIET
) -> Breakdown:
    return breakdown(configuration, once(milliseconds), noise, otherwise=1.0)


def covers(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low <= truth <= interval.high


@pytest.mark.parametrize("steps", [1, 8, 32])
def test_what_more_steps_per_call_save_is_the_call(steps: int) -> None:
    """Of a step of 3 ms whose call takes 1 ms, the share of the call falls with the steps in it."""
    held, calls = 3 + 1 / steps, 3 + 1 / (8 if steps == 1 else 1)
    configuration = Configuration(per_replica_batch=64, steps_per_execution=steps)
    found = apart(configuration, {"step": held, "held": held, "calls": calls})
    assert found.share(Part.CALL) == pytest.approx(1 / steps / held)
    assert found.share(Part.COMPUTE) == pytest.approx(3 / held)


@pytest.mark.parametrize("calls", [{"calls": 1.825}, {}], ids=["calls told apart", "not"])
def test_what_callbacks_take_is_no_computing(calls: dict[str, float]) -> None:
    """Of 7.6 ms a callback takes 6.2: it is the limit, and computing is what is left."""
    callbacks = (("Watch", 0.0062), ("History", 1e-6))
    made = once({"step": 7.6, "held": 7.6, **calls})
    found = breakdown(ALONE, made, QUIET, otherwise=1.0, callbacks=callbacks)
    assert found.spent(Part.CALLBACKS) == pytest.approx(6.2, abs=0.01)
    assert found.is_limit(Part.CALLBACKS)
    assert not found.is_limit(Part.COMPUTE)
    assert sum(found.spent(part) for part in Part) == pytest.approx(7.6)


def test_callbacks_take_no_more_than_the_step() -> None:
    """Those that were timed in a slower run than the step count as all of it."""
    made = once({"step": 7.6, "held": 7.6})
    found = breakdown(ALONE, made, QUIET, otherwise=1.0, callbacks=(("Watch", 0.009),))
    assert found.spent(Part.CALLBACKS) == pytest.approx(7.6)
    assert found.share(Part.COMPUTE) == 0
    assert found.callbacks == (("Watch", pytest.approx(0.0076)),)


def test_every_part_is_what_its_run_took_away() -> None:
    """Input, exchange and the other replicas one after the other, and a replica's own computing."""
    found = apart(SEVERAL, SLOWER)
    spent = {each.part: round(found.spent(each.part), 6) for each in found.shares}
    assert spent == {Part.COMPUTE: 8, Part.INPUT: 3, Part.EXCHANGE: 2, Part.SHARING: 2}


def test_what_was_not_taken_away_is_not_explained() -> None:
    """Without a run of one replica, or without one that exchanges nothing, the rest has no name."""
    lacking = {name: each for name, each in SLOWER.items() if name != "apart"}
    found = apart(SEVERAL, lacking)
    assert {each.part for each in found.shares} == {Part.COMPUTE, Part.INPUT}
    assert found.unexplained.value == pytest.approx(4 / 15)
    held = apart(SEVERAL, {"step": 15, "held": 12})
    assert [each.part for each in held.shares] == [Part.INPUT]
    assert held.unexplained.value == pytest.approx(12 / 15)


@pytest.mark.parametrize(("noise", "limit"), [(0.01, True), (0.5, False)])
def test_what_may_be_noise_is_no_limit(noise: float, limit: bool) -> None:  # noqa: FBT001 - a case
    """Half of a step is named as its limit only where it surely takes some of it."""
    found = apart(ALONE, {"step": 10, "held": 5}, noise=Noise(sd=noise, degrees=50))
    assert found.unexplained is None
    assert found.share(Part.INPUT) == pytest.approx(0.5)
    assert found.is_limit(Part.INPUT) is limit


def test_without_experiments_nothing_is_claimed() -> None:
    found = apart(ALONE, {})
    assert (found.shares, found.fixed, found.unexplained) == ((), None, None)
    assert found.milliseconds == pytest.approx(1000)


def test_a_chain_of_small_operations_hardly_falls_with_the_batch() -> None:
    """Half the batch in 90 % of the time: 80 % of the step do not depend on it."""
    found = apart(ALONE, {"step": 10, "held": 10, "half": 9})
    assert found.fixed.value == pytest.approx(0.8)


SECONDS = st.floats(1e-2, 1e4)


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.floats(0.001, 0.2))
def test_parts_and_what_they_leave_over_are_the_step_in_any_unit(
    step: float, held: float, apart_: float, alone: float, noise: float
) -> None:
    """Whatever was measured, no part is larger than the whole, and the unit does not matter."""
    measured = {"step": step, "held": held, "apart": apart_, "alone": alone}
    spread = Noise(sd=noise, degrees=4)
    found = apart(SEVERAL, measured, noise=spread)
    in_kilo = apart(SEVERAL, {name: 1000 * t for name, t in measured.items()}, noise=spread)
    left = found.unexplained.value if found.unexplained else 0.0
    assert left + sum(each.share.value for each in found.shares) == pytest.approx(1)
    assert min(measured.values()) <= found.milliseconds * 1.000001
    assert found.milliseconds <= max(measured.values()) * 1.000001
    for mine, other in zip(found.shares, in_kilo.shares, strict=True):
        assert 0 <= mine.share.low <= mine.share.value <= mine.share.high <= 1
        assert mine.share.value == pytest.approx(other.share.value, abs=1e-6)


def test_runs_that_contradict_each_other_are_noise() -> None:
    """A step of 7.8 ms whose computing alone took 9.53: it is all of it, and how sure is told."""
    found = apart(ALONE, {"step": 7.8, "held": 9.53, "half": 12, "calls": 0.5})
    assert found.milliseconds == pytest.approx((7.8 * 9.53) ** 0.5)
    assert found.share(Part.INPUT) == 0
    assert sum(each.share.value for each in found.shares) == pytest.approx(1)
    assert found.unexplained is None
    sure = apart(ALONE, {"step": 9.53, "held": 7.8})
    widths = [each.share.high - each.share.low for each in (found.shares[-1], sure.shares[-1])]
    assert widths[0] > 10 * widths[1]
    assert found.fixed.value == 1


MILLISECONDS = {Part.COMPUTE: 10, Part.INPUT: 2.8, Part.EXCHANGE: 2.2, Part.SHARING: 0}
"""Of a step of 15 ms; a fifth of a replica's own step is fixed."""
TRUTH = {"step": 15.0, "held": 12.2, "apart": 10.0, "alone": 10.0, "half": 6.0}


def drawn(sd: float, slow: float, draw: random.Random) -> dict[str, float]:
    """Return what noisy runs show of that step, on a machine that is so much slower."""
    return {name: each * (1 + slow) * draw.lognormvariate(0, sd) for name, each in TRUTH.items()}


@pytest.mark.parametrize("sd", [0.03, 0.1])
@pytest.mark.parametrize("slow", [0.0, 0.25])
def test_intervals_cover_the_truth_under_noise(sd: float, slow: float) -> None:
    """95 of 100, with a noise that is known from a few runs, however slow the machine is."""
    draw, times = random.Random(0), 200
    inside = dict.fromkeys((*MILLISECONDS, "fixed"), 0)
    for _ in range(times):
        known = Noise(sd=sd * (draw.gammavariate(4, 2) / 8) ** 0.5, degrees=8)
        found = apart(SEVERAL, drawn(sd, slow, draw), noise=known)
        shares = {each.part: each.share for each in found.shares}
        left = found.unexplained
        for part, truth in MILLISECONDS.items():
            # A part that is surely none stands in what is not explained.
            inside[part] += covers(shares.get(part, left), truth / 15)
        inside["fixed"] += covers(found.fixed, 0.2)
    assert all(count / times >= 0.9 for count in inside.values()), inside
    assert sum(inside.values()) / len(inside) / times <= 0.985


def test_a_replica_alone_keeps_all_but_its_company() -> None:
    """One device with the steps per call and the threads of the replica, with half its batch."""
    alone = Configuration(
        per_replica_batch=64, steps_per_execution=8, intra_op_parallelism_threads=1
    )
    assert WORKERS.on_one_device() == alone.on_one_device() == alone
    half = variant(WORKERS, Experiment.HALF)
    assert half.configuration == alone.but(per_replica_batch=32)
    assert variant(Configuration(per_replica_batch=1), Experiment.HALF) is None


@pytest.mark.parametrize(("given", "other"), [(1, 8), (8, 1), (32, 1)])
def test_calls_are_compared_with_another_number_of_steps(given: int, other: int) -> None:
    what = variant(Configuration(steps_per_execution=given), Experiment.CALLS)
    assert what.configuration.steps_per_execution == other


def test_only_what_there_is_is_asked_for() -> None:
    assert Experiment.CALLS in further(WORKERS.on_one_device())
    assert Experiment.CALLS not in further(WORKERS)
    assert Experiment.APART in telling(WORKERS)
    served = Configuration(
        strategy="parameter_server", workers=2, servers=1, per_replica_batch=64, shard_policy="data"
    )
    assert Experiment.APART not in {*telling(served), *further(served)}
