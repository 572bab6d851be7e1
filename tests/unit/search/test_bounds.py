"""Which configurations are proved unable to win."""

from __future__ import annotations

import math

import pytest

from autotune.config import Configuration
from autotune.reason import AllReduceBound, OneDeviceBound, SharedInputBound
from autotune.reason.sentences import reason_text
from autotune.search.bounds import Bounds, LogOffset
from autotune.search.history import History
from autotune.testing import FAKE_FACTS
from autotune.trial import Stage

from .conftest import ended

SMALL = Configuration(per_replica_batch=32)
LARGE = Configuration(per_replica_batch=512)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2, reduction="one_device")
SLOWER = TWO.but(per_replica_batch=32)
WORKERS = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=32, shard_policy="data"
)


def bounds(
    rates: dict[Configuration, float],
    model_takes: tuple[str, ...] = (),
    log_offset: LogOffset = lambda _: 0.0,
) -> Bounds:
    history = History(
        ended(number, configuration, rate=rate, stage=Stage.BASELINE)
        for _ in range(4)
        for number, (configuration, rate) in enumerate(rates.items())
    )
    facts = FAKE_FACTS.model_copy(update={"model_takes": model_takes})
    return Bounds(history, facts, margin=0.03, log_offset=log_offset)


def test_twice_too_little_cannot_win() -> None:
    """Two replicas with a batch at a tenth of the best are at most at a fifth of it.

    A step of twice the examples takes at least as long, and so does one with fewer steps per call.
    """
    proof = bounds({SMALL: 100.0, LARGE: 1000.0})
    reason = proof.why_not(SLOWER)
    assert isinstance(reason, OneDeviceBound)
    assert "20% of the best single device" in reason_text(reason)
    assert proof.why_not(TWO.but(per_replica_batch=64)) is not None
    steps = bounds({SMALL.but(steps_per_execution=8): 100.0, LARGE: 1000.0})
    assert steps.why_not(SLOWER) is not None


@pytest.mark.parametrize(
    ("single", "rate", "configuration"),
    [
        (SMALL, 480.0, SLOWER),
        (SMALL, 600.0, SLOWER),
        (SMALL.but(prefetch=0), 100.0, SLOWER),
        (SMALL.but(steps_per_execution=8), 100.0, SLOWER.but(steps_per_execution=32)),
        (SMALL, 100.0, TWO.but(per_replica_batch=256)),
        (SMALL, 100.0, WORKERS),
        (SMALL, 100.0, SMALL),
    ],
    ids=["half", "more", "another input", "steps", "a batch", "another program", "one device"],
)
def test_what_may_reach_the_best_is_run(
    single: Configuration, rate: float, configuration: Configuration
) -> None:
    """With half the throughput of the best on one device, two replicas may be as fast.

    A slow pipeline says nothing of replicas with a faster one. The loop of several workers may have
    less overhead than Keras's fit on one device, and larger calls and batches less for an example.
    And only what has to beat one device is bounded.
    """
    assert bounds({single: rate, LARGE: 1000.0}).why_not(configuration) is None


def test_what_an_example_is_worth_counts_in_a_proof() -> None:
    """Half the throughput may win where each example teaches twice as much, and not otherwise."""
    rates = {SMALL: 250.0, LARGE: 1000.0}
    twice = {LARGE: 0.5}
    proof = bounds(rates, log_offset=lambda c: math.log(twice.get(c, 1.0)))
    assert proof.why_not(SLOWER) is None
    assert bounds(rates).why_not(SLOWER) is not None


def test_workers_that_all_read_everything_cannot_outrun_the_input() -> None:
    """Of a step of 320 ms one millisecond is not input: two workers with DATA gain nothing.

    Mirrored replicas wait for the same pipeline as one device.
    """
    proof = bounds({SMALL: 100.0})
    proof.note_without_input(SMALL, 0.001)
    reason = proof.why_not(WORKERS)
    assert isinstance(reason, SharedInputBound)
    assert "at least 10 ms per example" in reason_text(reason)
    assert "at most 100% of the best single device" in reason_text(reason)
    shared = proof.why_not(SLOWER)
    assert "its replicas share one input pipeline" in reason_text(shared)


@pytest.mark.parametrize(
    ("group", "held"),
    [
        (WORKERS.but(shard_policy="source"), 0.001),
        (WORKERS.but(shard_policy="file"), 0.001),
        (WORKERS.but(num_parallel_calls=4), 0.001),
        (WORKERS, 0.160),
        (WORKERS, 0.400),
    ],
    ids=["source", "file", "another pipeline", "half of it computes", "no input to wait for"],
)
def test_input_that_is_divided_or_quick_is_no_bound(group: Configuration, held: float) -> None:
    """Whoever divides the input at its source, or computes beside it, may gain."""
    proof = bounds({SMALL: 100.0})
    proof.note_without_input(SMALL, held)
    assert proof.why_not(group) is None


def test_an_allreduce_bounds_only_the_model_that_was_timed() -> None:
    """With another model, by an axis of the user's own, there are other gradients."""
    proof = bounds({SMALL: 1000.0}, model_takes=("units",))
    proof.note_allreduce(TWO, 1.0)
    assert isinstance(proof.why_not(TWO), AllReduceBound)
    assert proof.why_not(TWO.but(arguments=(("units", 4),))) is None
