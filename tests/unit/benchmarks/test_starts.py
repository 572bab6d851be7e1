"""How the start of a trial is told beside that of a job."""

from __future__ import annotations

from benchmarks.starts.bench import faster, longer, told
from benchmarks.starts.timed import Round

ROUNDS = [Round(1.0, 9.0, 0.3, 0.2), Round(2.0, 8.0, 0.9, 0.1), Round(0.5, 10.0, 0.4, 0.2)]


def test_the_middle_round_counts() -> None:
    """Each round is compared within itself, so that a slow one is slow for both."""
    assert faster(ROUNDS) == 9.0
    assert round(longer(ROUNDS), 6) == 0.2


def test_the_page_tells_each_round_and_how_far_they_lie_apart() -> None:
    """A row for each, and the least and the largest."""
    lines = [*told(ROUNDS)]
    assert "| 2 | 2.00 | 8.00 | 4.0 | 0.90 | 0.10 |" in lines
    text = " ".join(line.strip() for line in lines)
    assert "9.0 times as fast in the middle (4.0 to 20.0)" in text
    assert "0.20 s longer on Ray than locally in the middle (0.10 to 0.80)" in text
