"""Which worker keeps the others waiting, and what they would reach without it."""

from __future__ import annotations

import pytest

from autotune.checks.breakdown import slow_worker, straggler
from autotune.stats import Noise

CALM = Noise(sd=0.01, degrees=20)


@pytest.mark.parametrize(
    ("work", "worker"),
    [((), None), ((0.1,), None), ((0.10, 0.11), None), ((0.1, 0.2), 1), ((0.5, 0.25, 0.25), 0)],
)
def test_who_works_longer_keeps_the_others_waiting(
    work: tuple[float, ...], worker: int | None
) -> None:
    """A worker is named from a quarter more work on; a lone one keeps nobody waiting."""
    found = straggler(work)
    assert (found and (found.worker, found.factor, found.seconds)) == (
        None if worker is None else (worker, 2.0, work)
    )


def test_without_the_slow_one_two_workers_are_one() -> None:
    """Which exchanges nothing: a step of its own in place of one of both."""
    found = slow_worker((0.1, 0.4), 0.5, CALM)
    assert found.without.value == pytest.approx(0.5 / 2 / 0.1)


def test_without_the_slow_one_three_workers_still_exchange() -> None:
    """Between the exchange as it was and that of one neighbour less, with the ring in between."""
    found = slow_worker((0.1, 0.4, 0.12), 0.6, CALM)
    gain = found.without
    least, ring, most = ((2 / 3) * 0.6 / (0.12 + part * 0.2) for part in (1.0, 0.75, 0.5))
    assert gain.value == pytest.approx(ring)
    assert least * 0.9 < gain.low < least
    assert most < gain.high < most * 1.1


def test_what_noise_may_make_of_equal_workers_names_nobody() -> None:
    """A worker is a straggler where it is slower beyond what two runs differ by."""
    assert slow_worker((0.1, 0.14), 0.2, Noise(sd=0.2, degrees=4)) is None
    assert slow_worker((0.1, 0.14), 0.2, CALM) is not None
