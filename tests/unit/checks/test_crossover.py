"""From which batch, or with which network, distribution would pay."""

from __future__ import annotations

import pytest

from autotune.checks.crossover import break_even
from autotune.checks.experiment import Experiment
from autotune.config import Configuration
from autotune.stats import Interval, Noise

FIXED, EACH, BATCH = 0.001, 1e-4, 64
"""Seconds of a step whatever its batch, and for each example."""
QUIET = 0.001
MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=BATCH)
WORKERS = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=BATCH, shard_policy="data"
)


def batch(*, exchange: float, crowding: float = 1.0, noise: float = QUIET) -> Interval | None:
    seconds = {
        Experiment.HELD: FIXED + crowding * EACH * BATCH + exchange,
        Experiment.APART: FIXED + crowding * EACH * BATCH,
        Experiment.ALONE: FIXED + EACH * BATCH,
        Experiment.HALF: FIXED + EACH * BATCH / 2,
    }
    known = Noise(sd=noise, degrees=50)
    result = break_even(MIRRORED, [seconds], gradient_bytes=10**6, noise=known)
    assert result is not None
    return result.batch


def test_it_pays_from_where_the_saved_work_repays_the_exchange() -> None:
    """Two replicas that do not crowd each other save a batch's work, and pay the exchange."""
    found = batch(exchange=0.010)
    assert found is not None
    assert found.value == pytest.approx(0.010 / EACH, rel=0.02)
    assert found.low < found.value < found.high


def test_crowded_replicas_need_more() -> None:
    """With half of the work lost to each other, the batch has to be twice as large."""
    found = batch(exchange=0.010, crowding=1.5)
    assert found is not None
    assert found.value == pytest.approx(0.010 / EACH / 0.5, rel=0.05)


@pytest.mark.parametrize(("exchange", "crowding"), [(0.010, 2.1), (1.0, 1.0)])
def test_where_it_never_pays_no_batch_is_told(exchange: float, crowding: float) -> None:
    """Replicas that take all from each other never pay, nor does an exchange of a second."""
    assert batch(exchange=exchange, crowding=crowding) is None


def test_an_exchange_that_is_hidden_pays_at_once() -> None:
    """Where it adds nothing to the step, a single example repays it."""
    found = batch(exchange=0.0)
    assert found is not None
    assert found.low == found.value == 1


def test_noise_widens_the_interval() -> None:
    """What is not known well is not told as if it were."""
    sure, unsure = batch(exchange=0.005), batch(exchange=0.005, noise=0.05)
    assert sure is not None
    assert unsure is not None
    assert unsure.high / unsure.low > 2 * sure.high / sure.low


def test_the_network_has_to_move_the_gradients_in_the_time_that_is_saved() -> None:
    """A ring of two moves as many bytes as there are gradients, past its latency."""
    seconds = {
        Experiment.HELD: 0.1,
        Experiment.ALONE: FIXED + EACH * BATCH,
        Experiment.HALF: FIXED + EACH * BATCH / 2,
        Experiment.APART: 0.05,
        Experiment.LATENCY: 0.002,
    }
    known = Noise(sd=QUIET, degrees=50)
    result = break_even(WORKERS, [seconds], gradient_bytes=10**6, noise=known)
    assert result is not None
    assert result.bandwidth is not None
    assert result.bandwidth.value == pytest.approx(10**6 / (EACH * BATCH - 0.002), rel=0.03)
    unknown = break_even(WORKERS, [seconds], gradient_bytes=0, noise=known)
    assert unknown is not None
    assert unknown.bandwidth is None


def gradients(*, exchange: float, latency: float) -> Interval | None:
    """Return up to how many bytes it pays, of a million that take so long."""
    alone, half = FIXED + EACH * BATCH, FIXED + EACH * BATCH / 2
    seconds = {
        Experiment.HELD: alone + exchange,
        Experiment.APART: alone,
        Experiment.ALONE: alone,
        Experiment.HALF: half,
        Experiment.LATENCY: latency,
    }
    known = Noise(sd=QUIET, degrees=50)
    result = break_even(WORKERS, [seconds], gradient_bytes=10**6, noise=known)
    assert result is not None
    return result.gradient_bytes


def test_fewer_gradients_are_exchanged_in_the_time_that_is_saved() -> None:
    """Half of them where their exchange, past its latency, takes twice what it may."""
    latency, saved = 0.0024, EACH * BATCH
    found = gradients(exchange=latency + 2 * (saved - latency), latency=latency)
    assert found is not None
    assert found.value == pytest.approx(5e5, rel=0.03)
    assert found.low < found.value < found.high


def test_no_gradients_are_few_enough_where_the_latency_takes_all() -> None:
    """Then a smaller model does not help, and none is told where the exchange adds nothing."""
    nothing = gradients(exchange=0.030, latency=0.020)
    assert nothing is not None
    assert nothing.value == 0
    assert gradients(exchange=0.0, latency=0.001) is None


def test_a_missing_experiment_is_no_answer() -> None:
    """Nothing is guessed."""
    held = {Experiment.HELD: 1.0}
    known = Noise(sd=QUIET, degrees=50)
    assert break_even(MIRRORED, [held], gradient_bytes=1, noise=known) is None
