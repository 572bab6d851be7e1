"""A step taken apart by what its experiments measured."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from autotune.config import Configuration
from autotune.diagnose.breakdown import Part, Straggler, breakdown, straggler
from autotune.diagnose.experiment import Experiment, Timing

ALONE = Configuration(per_replica_batch=64)
SEVERAL = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=64)
QUIET = 0.001


def timings(**seconds: float) -> dict[Experiment, Timing]:
    return {Experiment(name): Timing(seconds=each) for name, each in seconds.items()}


def test_what_a_batch_in_memory_saves_is_the_input() -> None:
    """A step of 10 ms that takes 4 ms without its input waits for it for 60 % of the time."""
    found = breakdown(ALONE, Timing(seconds=0.010), timings(held=0.004), QUIET)
    assert found.share(Part.INPUT) == pytest.approx(0.6)
    assert found.milliseconds == pytest.approx(10)


@pytest.mark.parametrize("steps", [1, 8, 32])
def test_what_more_steps_per_call_save_is_the_call(steps: int) -> None:
    """Of a step of 3 ms whose call takes 1 ms, the share of the call falls with the steps in it."""
    other = 8 if steps == 1 else 1
    held, calls = 0.003 + 0.001 / steps, 0.003 + 0.001 / other
    configuration = Configuration(per_replica_batch=64, steps_per_execution=steps)
    found = breakdown(configuration, Timing(seconds=held), timings(held=held, calls=calls), QUIET)
    assert found.share(Part.CALL) == pytest.approx(0.001 / steps / held)


def test_what_replicas_add_is_exchange_and_sharing() -> None:
    """Two replicas that take 5 ms where one takes 2 ms spend the rest on each other."""
    found = breakdown(
        SEVERAL,
        Timing(seconds=0.005),
        timings(held=0.005, alone=0.002, exchange=0.001),
        QUIET,
    )
    assert [each.part for each in found.shares][:1] in ([Part.COMPUTE], [Part.SHARING])
    assert found.share(Part.EXCHANGE) == pytest.approx(0.2)
    assert found.share(Part.SHARING) == pytest.approx(0.4)


def test_what_was_not_timed_by_itself_is_not_called_computing() -> None:
    """The step of several without a run of one replica, or without one of the exchange."""
    whole = breakdown(SEVERAL, Timing(seconds=0.005), timings(held=0.005), QUIET)
    assert [each.part for each in whole.shares if each.share.value > 0] == [Part.TOGETHER]
    half = breakdown(SEVERAL, Timing(seconds=0.005), timings(held=0.005, alone=0.002), QUIET)
    assert half.share(Part.COMPANY) == pytest.approx(0.6)
    assert half.share(Part.SHARING) == 0


@pytest.mark.parametrize(("noise", "limit"), [(0.01, True), (0.5, False)])
def test_what_may_be_noise_is_no_limit(noise: float, limit: bool) -> None:  # noqa: FBT001 - a case
    """Half of a step is named as its limit only where it surely takes some of it."""
    found = breakdown(ALONE, Timing(seconds=0.010), timings(held=0.005), noise)
    assert found.share(Part.INPUT) == pytest.approx(0.5)
    assert found.is_limit(Part.INPUT) is limit


def test_without_experiments_nothing_is_claimed() -> None:
    """The step is known, its parts are not."""
    found = breakdown(ALONE, Timing(seconds=0.010), {}, QUIET)
    assert (found.shares, found.fixed) == ((), None)


def test_a_chain_of_small_operations_hardly_falls_with_the_batch() -> None:
    """Half the batch in 90 % of the time: 80 % of the step do not depend on it."""
    found = breakdown(ALONE, Timing(seconds=0.01), timings(held=0.01, half=0.009), QUIET)
    assert found.fixed is not None
    assert found.fixed.value == pytest.approx(0.8)


SECONDS = st.floats(1e-5, 10.0)


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.floats(0.001, 0.2))
def test_the_parts_are_a_whole_in_any_unit(
    step: float, held: float, alone: float, exchange: float, noise: float
) -> None:
    """Shares are between zero and one, add up to one, and do not depend on the unit of time."""

    def shares(unit: float) -> dict[Part, float]:
        found = timings(held=held * unit, alone=alone * unit, exchange=exchange * unit)
        result = breakdown(SEVERAL, Timing(seconds=step * unit), found, noise)
        assert all(0 <= s.share.low <= s.share.value <= s.share.high <= 1 for s in result.shares)
        return {each.part: each.share.value for each in result.shares}

    assert sum(shares(1.0).values()) == pytest.approx(1)
    assert shares(1.0) == pytest.approx(shares(1000.0))


def test_the_interval_of_the_input_covers_what_it_says() -> None:
    """With noisy timings the true share lies in the 95 % interval about 95 times in 100."""
    draw, noise, inside = random.Random(0), 0.05, 0
    for _ in range(400):
        step, held = (each * draw.lognormvariate(0, noise) for each in (0.010, 0.006))
        found = breakdown(ALONE, Timing(seconds=step), timings(held=held), noise)
        interval = next(each.share for each in found.shares if each.part is Part.INPUT)
        inside += interval.low <= 0.4 <= interval.high
    assert 0.9 <= inside / 400 <= 1


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ((), None),
        ((0.1,), None),
        ((0.10, 0.11), None),
        ((0.1, 0.2), Straggler(worker=1, factor=2.0, seconds=(0.1, 0.2))),
        ((0.5, 0.25, 0.25, 0.25), Straggler(worker=0, factor=2.0, seconds=(0.5, 0.25, 0.25, 0.25))),
    ],
)
def test_who_works_longer_keeps_the_others_waiting(
    work: tuple[float, ...], expected: Straggler | None
) -> None:
    """A worker is named from a quarter more work on; a lone one keeps nobody waiting."""
    assert straggler(work) == expected
