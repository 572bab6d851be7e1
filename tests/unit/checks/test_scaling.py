"""Where distribution would pay, and a step on more hosts, from what was measured."""

import pytest

from autotune.checks.breakdown import Experiment
from autotune.checks.scaling import PAYLOAD, BreakEven, Predicted, break_even, predict, slow_worker
from autotune.config import Configuration
from autotune.stats.intervals import Interval, Noise

FIXED, EACH, BATCH, BYTES = 0.001, 1e-4, 64, 10**6
"""Seconds of a step whatever its batch, and for each example; gradients that are exchanged."""
SAVED = EACH * BATCH
KNOWN = Noise(sd=0.001, degrees=50)
WORKERS = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=BATCH, shard_policy="data"
)
ALONE, LATENCY, GRADIENTS, BANDWIDTH = 0.050, 0.003, 8_000_000, 12_500_000.0
"""Seconds of one host's step and for a neighbour; gradients, and bytes a second of the link."""


def pays(
    exchange: float, *, crowding: float = 1.0, size: int = BYTES, on: Configuration = WORKERS
) -> BreakEven | None:
    """Return where two workers would pay that add so much to a step by their exchange."""
    together = FIXED + crowding * EACH * BATCH
    seconds = {
        Experiment.HELD: together + exchange,
        Experiment.APART: together,
        Experiment.ALONE: FIXED + SAVED,
        Experiment.HALF: FIXED + SAVED / 2,
    }
    return break_even(on, seconds, gradient_bytes=size, noise=KNOWN)


@pytest.mark.parametrize(("crowding", "times"), [(1.0, 1.0), (1.5, 2.0)])
def test_it_pays_from_where_the_saved_work_repays_the_exchange(
    crowding: float, times: float
) -> None:
    """Workers save a batch's work and pay the exchange; half of it where they crowd each other."""
    found = pays(0.010, crowding=crowding).batch
    assert found.value == pytest.approx(times * 0.010 / EACH, rel=0.05)
    assert found.low < found.value < found.high


def test_an_exchange_pays_never_or_at_once() -> None:
    """Workers that take all from each other never pay, nor does an exchange of a second.

    Where it adds nothing to the step, a single example repays it; without experiments none is told.
    """
    assert pays(0.010, crowding=2.1).batch is None
    assert pays(1.0).batch is None
    found = pays(0.0).batch
    assert found.low == found.value == 1
    held = {Experiment.HELD: 1.0}
    assert break_even(WORKERS, held, gradient_bytes=1, noise=KNOWN) is None


def test_the_network_has_to_move_the_gradients_in_the_time_that_is_saved() -> None:
    """The exchange on this machine comes on top; replicas of one process need no network."""
    found = pays(0.002).bandwidth
    assert found.value == pytest.approx(BYTES / (SAVED - 0.002), rel=0.03)
    assert pays(0.002, size=0).bandwidth is None
    assert pays(2 * SAVED).bandwidth is None
    assert pays(0.002, on=WORKERS.but(workers=1, replicas_per_worker=2)).bandwidth is None


def step(hosts: int) -> float:
    moved = 2 * GRADIENTS / (BANDWIDTH * PAYLOAD)
    return ALONE + LATENCY * (hosts - 1) + moved * (hosts - 1) / hosts


def predicted(*hosts: int, of: int, noise: float = 0.001, **known: float) -> Predicted:
    """Return the prediction for a number of hosts from measurements of others."""
    steps = {
        number: Interval(
            low=step(number) * (1 - noise), value=step(number), high=step(number) * (1 + noise)
        )
        for number in hosts
    }
    [found] = predict(steps, [of], **known)
    return found


@pytest.mark.parametrize("hosts", [4, 8, 64])
def test_three_numbers_tell_latency_from_bytes(hosts: int) -> None:
    """A ring's step follows from those on two and three; the speedup counts all examples."""
    found = predicted(1, 2, 3, of=hosts)
    assert found.seconds.value == pytest.approx(step(hosts), rel=0.02)
    assert found.seconds.low < step(hosts) < found.seconds.high
    assert found.speedup.value == pytest.approx(hosts * ALONE / found.seconds.value)
    assert found.speedup.low == pytest.approx(hosts * ALONE / found.seconds.high)


def test_the_links_bandwidth_tells_them_apart_where_only_two_were_measured() -> None:
    """Without it all is taken for bytes, which is the quickest that may be."""
    known = predicted(1, 2, of=8, gradient_bytes=GRADIENTS, bandwidth=BANDWIDTH)
    assert known.seconds.value == pytest.approx(step(8), rel=0.02)
    unknown = predicted(1, 2, of=8)
    assert unknown.seconds.value < known.seconds.value
    assert unknown.seconds.high == pytest.approx(known.seconds.high)


def test_what_two_hosts_cannot_tell_stays_open() -> None:
    """The interval reaches from all bytes to all latency; a third host closes most of it."""
    two, three = predicted(1, 2, of=16).seconds, predicted(1, 2, 3, of=16).seconds
    added = step(2) - ALONE
    assert two.low == pytest.approx(ALONE + added * 2 * 15 / 16, rel=0.01)
    assert two.high == pytest.approx(ALONE + added * 15, rel=0.01)
    assert three.high - three.low < 0.5 * (two.high - two.low)


def test_an_exchange_that_costs_nothing_scales_without_end() -> None:
    """Not even noise makes it quicker than one host's step; without one nothing is predicted."""
    steps = {number: Interval(low=0.99, value=1.0, high=1.01) for number in (1, 2, 3)}
    [found] = predict(steps, [64])
    assert found.seconds.low > 0.95
    assert found.seconds.value < 1.6
    assert predict({1: steps[1]}, [4]) == predict({2: steps[2], 3: steps[3]}, [4]) == []


CALM = Noise(sd=0.01, degrees=20)


@pytest.mark.parametrize(
    ("own", "worker"),
    [((), None), ((0.1,), None), ((0.10, 0.11), None), ((0.1, 0.2), 1), ((0.5, 0.25, 0.25), 0)],
)
def test_who_works_longer_keeps_the_others_waiting(
    own: tuple[float, ...], worker: int | None
) -> None:
    """A worker is named whose step takes a quarter longer; a lone one keeps nobody waiting."""
    found = slow_worker(own, max(own, default=0.0), CALM)
    assert (found and (found.worker, found.factor, found.seconds)) == (
        None if worker is None else (worker, 2.0, own)
    )


def test_without_the_slow_one_two_workers_are_one() -> None:
    """Which exchanges nothing: a step of its own in place of one of both.

    A worker is a straggler where it is slower beyond what two runs differ by.
    """
    found = slow_worker((0.1, 0.4), 0.5, CALM)
    assert found.without.value == pytest.approx(0.5 / 2 / 0.1)
    assert slow_worker((0.1, 0.14), 0.2, Noise(sd=0.2, degrees=4)) is None
    assert slow_worker((0.1, 0.14), 0.2, CALM) is not None


def test_without_the_slow_one_three_workers_still_exchange() -> None:
    """Between the exchange as it was and that of one neighbour less, with the ring in between."""
    found = slow_worker((0.1, 0.4, 0.12), 0.6, CALM)
    gain = found.without
    least, ring, most = ((2 / 3) * 0.6 / (0.12 + part * 0.2) for part in (1.0, 0.75, 0.5))
    assert gain.value == pytest.approx(ring)
    assert least * 0.9 < gain.low < least
    assert most < gain.high < most * 1.1
