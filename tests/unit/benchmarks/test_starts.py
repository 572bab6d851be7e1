"""How the start of a trial is told beside that of a job."""

from __future__ import annotations

from benchmarks.starts.bench import faster, told

ROUNDS = [(1.0, 9.0), (2.0, 8.0), (0.5, 10.0)]


def test_the_middle_round_counts() -> None:
    """Each round is compared within itself, so that a slow one is slow for both."""
    assert faster(ROUNDS) == 9.0


def test_the_page_tells_each_round_and_how_far_they_lie_apart() -> None:
    """A row for each, and the least and the largest."""
    lines = [*told(ROUNDS)]
    assert "| 2 | 2.00 | 8.00 | 4.0 |" in lines
    assert any("9.0 times as fast in the middle (4.0 to 20.0)" in line for line in lines)
