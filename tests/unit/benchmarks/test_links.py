"""What a link lets worker groups reach, and whether a search says so."""

from __future__ import annotations

import pytest

from benchmarks.links.bench import GANGS, GRADIENTS, STEP, Case, Judged, speedup

SLOW = 12.5e6
"""Bytes a second of 100 Mbit/s."""
FAST = 500e6


def test_a_worker_group_is_as_much_slower_as_its_exchange_takes() -> None:
    """Two hosts send all gradients once, three a third more; without an exchange none is slower."""
    second = GRADIENTS / 0.956
    assert speedup(2, second) == pytest.approx(2 * STEP / (STEP + 1))
    assert speedup(3, second) == pytest.approx(3 * STEP / (STEP + 4 / 3))
    assert speedup(2, 1e15) == pytest.approx(2)


@pytest.mark.parametrize("hosts", GANGS)
def test_the_workload_is_clear_on_both_sides(hosts: int) -> None:
    """What is predicted leaves room for what a machine adds, so that an error can be told."""
    assert speedup(hosts, SLOW) < 0.85
    assert speedup(hosts, FAST) > 1.8


@pytest.mark.parametrize(("bandwidth", "right"), [(SLOW, "one device"), (FAST, "distribute")])
def test_a_verdict_is_right_if_the_link_says_the_same(bandwidth: float, right: str) -> None:
    """Undecided is no answer where the link is clear."""
    for said in ("one device", "distribute", "undecided"):
        assert Judged(Case(None, 2), bandwidth, said, None).right is (said == right)
