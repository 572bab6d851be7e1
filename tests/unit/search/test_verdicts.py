"""What a whole search answers, on a machine whose truth is known."""

from __future__ import annotations

import random

import pytest

from autotune import Verdict
from autotune.config import Configuration
from autotune.measure import Noise
from autotune.search.verdict import Rates, decide
from autotune.testing import FakeEngine

from .conftest import SPACE, Tuner, speed

ALONE = Configuration()
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def test_a_true_gain_is_found(tuner: Tuner) -> None:
    """Where distribution is 1.5 times as fast, it is recommended, with an interval around 1.5."""
    result = tuner(speed(distributed=1.5))
    assert result.verdict is Verdict.DISTRIBUTE
    assert result.config.distributed
    assert result.speedup.low < 1.5 < result.speedup.high


def test_a_loss_is_seen(tuner: Tuner) -> None:
    """Where distribution is slower, one device is recommended, and its speed-up is one."""
    result = tuner(speed(distributed=0.8))
    assert result.verdict is Verdict.ONE_DEVICE
    assert not result.config.distributed
    assert (result.speedup.low, result.speedup.high) == (1, 1)


def test_the_best_single_device_is_found(tuner: Tuner) -> None:
    """The settings that are fastest on one device are recommended, with the gain over defaults."""
    result = tuner(speed(distributed=0.5))
    assert (result.config.per_replica_batch, result.config.steps_per_execution) == (128, 8)
    assert result.over_default is not None
    assert result.over_default.low < 4**0.3 * 8**0.1 < result.over_default.high


def test_clearly_slower_trials_are_pruned(tuner: Tuner) -> None:
    """A configuration at a third of one device is stopped early, with the bound as its reason."""
    result = tuner(speed(distributed=0.3))
    pruned = [t for t in result.trials if t.outcome == "pruned" and t.configuration.distributed]
    assert pruned
    assert all("of the throughput of one device" in t.reason for t in pruned)


def test_without_anything_to_distribute_the_answer_is_one_device(tuner: Tuner) -> None:
    """A space with one strategy has a best configuration and an easy verdict."""
    space = SPACE.model_copy(update={"strategies": ("one_device",)})
    result = tuner(speed(), space=space)
    assert result.verdict is Verdict.ONE_DEVICE
    assert "nothing here to distribute" in result.summary


def test_no_time_for_finals_is_undecided(tuner: Tuner) -> None:
    """Two trials decide nothing, and the answer says so instead of guessing."""
    result = tuner(speed(distributed=1.5), options={"seconds": 12.0})
    assert result.verdict is Verdict.UNDECIDED
    assert not result.config.distributed


def test_the_program_handed_over_is_the_one_that_was_timed(tuner: Tuner) -> None:
    """The winner's script is, byte for byte, what its trials ran."""
    engine = FakeEngine(speed(distributed=1.5), between=0.03)
    result = tuner(speed(), engine=engine)
    timed = {r.script for r in engine.requests if r.configuration == result.config}
    assert timed == {result.script}


def test_the_same_seed_makes_the_same_search(tuner: Tuner) -> None:
    """Two searches with one seed try the same configurations in the same order."""
    first, second = (tuner(speed(), seed=3) for _ in range(2))
    assert [t.configuration for t in first.trials] == [t.configuration for t in second.trials]


def _says_distribute(rates: Rates, noise: Noise) -> bool:
    return decide(ALONE, [TWO], rates, noise, 0.03).verdict is Verdict.DISTRIBUTE


@pytest.mark.parametrize(
    ("truth", "most"), [(1.0, 0.0125), (0.95, 0.002)], ids=["equal", "slower by 5 %"]
)
def test_distribution_is_hardly_ever_recommended_wrongly(truth: float, most: float) -> None:
    """With nothing to gain, the finals say "distribute" in few of 4,000 simulated cases."""
    draw = random.Random(5)
    noise, wrong = Noise(sd=0.05, degrees=8), 0
    for _ in range(4000):
        rates: dict[Configuration, dict[int, float]] = {ALONE: {}, TWO: {}}
        for turn in range(6):
            rates[ALONE][turn] = draw.lognormvariate(0, 0.05)
            rates[TWO][turn] = truth * draw.lognormvariate(0, 0.05)
            if turn >= 2 and _says_distribute(rates, noise):
                wrong += 1
                break
    assert wrong / 4000 <= most
