"""What was promised and delivered, row by row."""

from __future__ import annotations

from pathlib import Path

from autotune.stats import Interval
from benchmarks.delivered.rows import Row, figures
from benchmarks.delivered.workloads import WORKLOADS
from benchmarks.parts import add_row, read_rows

PROMISED = Interval(low=95.0, value=100.0, high=105.0)


def row(workload: str, *delivered: float, commit: str = "aaa1111", **changed: object) -> Row:
    told = {
        "commit": commit,
        "workload": workload,
        "seed": 0,
        "budget": 60.0,
        "seconds": 60.0,
        "promised": PROMISED,
        "delivered": delivered,
        "said": "one device: one device, batch 64",
    }
    return Row.model_validate({**told, **changed})


def test_rows_are_those_of_their_commit(tmp_path: Path) -> None:
    """What another commit measured is measured again."""
    file = tmp_path / "new" / "rows.jsonl"
    add_row(file, row("pausing", 98.0))
    add_row(file, row("lstm", 98.0, commit="bbb2222"))
    assert [each.workload for each in read_rows(file, Row, "aaa1111")] == ["pausing"]
    assert read_rows(tmp_path / "none.jsonl", Row, "aaa1111") == []


def test_figures_tell_how_far_off_the_runs_are() -> None:
    """In the median and at the 95th percentile, short where they miss the goal."""
    rows = [row("pausing", 99.0), row("lstm", 98.0), row("digits", 80.0)]
    text = "\n".join(figures(rows, "a machine"))
    assert "| median | <= 3% | 2.0% | reached |" in text
    assert "| 95th percentile | <= 5% | 20.0% | short |" in text
    assert "2 of 3 (20.8% to 93.9%)" in text
    assert "0.800" in text


def test_trials_beside_a_run_tell_what_the_machine_did() -> None:
    """A run that is as slow as the trials around it was timed well, whatever was promised."""
    rows = [row("lstm", 80.0, beside=(80.0,)), row("digits", 95.0, beside=(100.0,))]
    text = "\n".join(figures(rows, "a machine"))
    assert "| 80 | 0.800 | 1.000 |" in text
    assert "| from trials beside it: median | | 2.5%, at most 5.0% | |" in text


def test_a_search_without_finals_is_shown() -> None:
    """It promised nothing, so it is in the table and not in the goals."""
    text = "\n".join(figures([row("pausing", promised=None)], "a machine"))
    assert "there were no finals" in text
    assert "median" not in text


def test_the_ten_workloads_have_their_factories() -> None:
    """Each names functions that its file defines."""
    assert len(WORKLOADS) == 10
    for each in WORKLOADS.values():
        text = each.file.read_text("utf-8")
        assert all(f"def {name.rpartition(':')[2]}(" in text for name in each.factories)
