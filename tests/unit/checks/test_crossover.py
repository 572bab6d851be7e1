"""From which batch, with which network, or up to how many gradients distribution would pay."""

from __future__ import annotations

import pytest

from autotune.checks.crossover import break_even
from autotune.checks.diagnosis import BreakEven
from autotune.checks.experiment import Experiment
from autotune.config import Configuration
from autotune.stats import Noise

FIXED, EACH, BATCH, BYTES = 0.001, 1e-4, 64, 10**6
"""Seconds of a step whatever its batch, and for each example; gradients that are exchanged."""
SAVED = EACH * BATCH
KNOWN = Noise(sd=0.001, degrees=50)
WORKERS = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=BATCH, shard_policy="data"
)


def pays(
    exchange: float,
    *,
    crowding: float = 1.0,
    latency: float | None = None,
    size: int = BYTES,
) -> BreakEven | None:
    """Return where two workers would pay that add so much to a step by their exchange."""
    together = FIXED + crowding * EACH * BATCH
    seconds = {
        Experiment.HELD: together + exchange,
        Experiment.APART: together,
        Experiment.ALONE: FIXED + SAVED,
        Experiment.HALF: FIXED + SAVED / 2,
        **({Experiment.LATENCY: latency} if latency else {}),
    }
    return break_even(WORKERS, seconds, gradient_bytes=size, noise=KNOWN)


@pytest.mark.parametrize(("crowding", "times"), [(1.0, 1.0), (1.5, 2.0)])
def test_it_pays_from_where_the_saved_work_repays_the_exchange(
    crowding: float, times: float
) -> None:
    """Workers save a batch's work and pay the exchange; half of it where they crowd each other."""
    found = pays(0.010, crowding=crowding).batch
    assert found.value == pytest.approx(times * 0.010 / EACH, rel=0.05)
    assert found.low < found.value < found.high


@pytest.mark.parametrize(("exchange", "crowding"), [(0.010, 2.1), (1.0, 1.0)])
def test_where_it_never_pays_no_batch_is_told(exchange: float, crowding: float) -> None:
    """Workers that take all from each other never pay, nor does an exchange of a second."""
    assert pays(exchange, crowding=crowding).batch is None


def test_an_exchange_that_is_hidden_pays_at_once() -> None:
    """Where it adds nothing to the step, a single example repays it."""
    found = pays(0.0).batch
    assert found.low == found.value == 1


def test_the_network_has_to_move_the_gradients_in_the_time_that_is_saved() -> None:
    """A ring of two moves as many bytes as there are gradients, past its latency."""
    found = pays(0.05, latency=0.002).bandwidth
    assert found.value == pytest.approx(BYTES / (SAVED - 0.002), rel=0.03)
    assert pays(0.05, latency=0.002, size=0).bandwidth is None


def test_fewer_gradients_are_exchanged_in_the_time_that_is_saved() -> None:
    """Half of them where their exchange, past its latency, takes twice what it may."""
    latency = 0.0024
    found = pays(latency + 2 * (SAVED - latency), latency=latency).gradient_bytes
    assert found.value == pytest.approx(BYTES / 2, rel=0.03)
    assert found.low < found.value < found.high
    nothing = pays(0.030, latency=0.020).gradient_bytes
    assert nothing.value == 0
    assert pays(0.0, latency=0.001).gradient_bytes is None


def test_a_missing_experiment_is_no_answer() -> None:
    """Nothing is guessed."""
    held = {Experiment.HELD: 1.0}
    assert break_even(WORKERS, held, gradient_bytes=1, noise=KNOWN) is None
