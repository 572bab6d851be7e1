"""Steps of more hosts than were measured, predicted."""

from __future__ import annotations

import pytest

from autotune.checks.diagnosis import Predicted
from autotune.checks.scaling import PAYLOAD, predict
from autotune.stats import Interval

ALONE, LATENCY, BYTES, BANDWIDTH = 0.050, 0.003, 8_000_000, 12_500_000.0
"""Seconds of one host's step and for a neighbour; gradients, and bytes a second of the link."""


def step(hosts: int) -> float:
    """Return what a step of a ring takes."""
    moved = 2 * BYTES / (BANDWIDTH * PAYLOAD)
    return ALONE + LATENCY * (hosts - 1) + moved * (hosts - 1) / hosts


def predicted(*hosts: int, of: int, noise: float = 0.001, **known: float) -> Predicted:
    """Return the prediction for a number of hosts from measurements of others."""
    steps = {
        number: Interval(
            low=step(number) * (1 - noise), value=step(number), high=step(number) * (1 + noise)
        )
        for number in hosts
    }
    [found] = predict(steps, [of], **known)  # type: ignore[arg-type]
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
    known = predicted(1, 2, of=8, gradient_bytes=BYTES, bandwidth=BANDWIDTH)
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
