"""What the page says of scripts that were tuned."""

from __future__ import annotations

from autotune.stats import Interval
from benchmarks.scripts.rows import Row, figures

KEPT = Row(
    script="kept.py",
    verdict="one device: batch 32",
    predicted=Interval(low=90.0, value=100.0, high=110.0),
    achieved=95.0,
    finished=True,
)
SLOWER = Row(
    script="slower.py",
    verdict="undecided: batch 64",
    predicted=Interval(low=90.0, value=100.0, high=110.0),
    achieved=80.0,
    reason="was stopped | after 60 s",
)
REFUSED = Row(script="refused.py", reason="Error: no fit\nwas called")


def test_what_came_of_each_is_counted() -> None:
    """A program that was timed has trained, also if nobody saw its epoch end."""
    text = "\n".join(figures([KEPT, SLOWER, REFUSED], "2 cores"))
    assert (
        "Of 3 scripts 2 came to a verdict, 1 to a decided one; 2 programs train, 1 of them were "
        "seen to come through an epoch."
    ) in text
    assert "Off the predicted throughput: 12.5% in the median, 20.0% at most, of 2 programs" in text
    assert "holds 1 of 2" in text
