"""What was predicted and achieved, row by row."""

from __future__ import annotations

from autotune.stats.intervals import Interval
from benchmarks.delivered.rows import Row, figures

PROMISED = Interval(low=95.0, value=100.0, high=105.0)


def row(workload: str, *achieved: float, commit: str = "aaa1111", **changed: object) -> Row:
    told = {
        "commit": commit,
        "workload": workload,
        "seed": 0,
        "budget": 60.0,
        "seconds": 60.0,
        "predicted": PROMISED,
        "between": 0.0,
        "achieved": achieved,
        "said": "one device: one device, batch 64",
    }
    return Row.model_validate({**told, **changed})


def test_figures_tell_how_far_off_the_runs_are() -> None:
    """In the median and at the 95th percentile, short where they miss the goal."""
    rows = [row("pausing", 99.0), row("lstm", 98.0), row("digits", 80.0)]
    text = "\n".join(figures(rows, "a machine"))
    assert "| median | <= 3% | 2.0% | reached |" in text
    assert "| 95th percentile | <= 10% | 20.0% | short |" in text
    assert "2 of 3 (20.8% to 93.9%)" in text
    assert "0.800" in text


def test_a_row_whose_ends_of_epochs_were_not_measured_counts_nowhere() -> None:
    rows = [row("pausing", 99.0), row("digits", 80.0, between=None)]
    text = "\n".join(figures(rows, "a machine"))
    assert "| median | <= 3% | 1.0% | reached |" in text
    assert "| not measured | 80 |" in text


def test_trials_beside_a_run_tell_what_the_machine_did() -> None:
    """A run that is as slow as the trials around it was timed well, whatever was predicted."""
    rows = [row("lstm", 80.0, beside=(80.0,)), row("digits", 95.0, beside=(100.0,))]
    text = "\n".join(figures(rows, "a machine"))
    assert "| 80 | 0.800 | 1.000 |" in text
    assert "| from trials beside it: median | | 2.5%, at most 5.0% | |" in text
