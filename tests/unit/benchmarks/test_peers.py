"""The comparison with other tuners: what counts as wrong, and the page of the rows there are."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.stats.intervals import Interval
from benchmarks.peers.findings import Row, Truth
from benchmarks.peers.table import figures

ONE = Configuration()
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def about(value: float, spread: float) -> Interval:
    return Interval(low=value / spread, value=value, high=value * spread)


def row(recommended: Configuration, seed: int = 0, **changed: object) -> Row:
    told = {
        "commit": "aaa1111",
        "workload": "digits",
        "seed": seed,
        "contestant": "optuna",
        "trials": 12,
        "recommended": recommended,
        "seconds_to_close": 20.0,
        "share": about(0.9, 1.1),
        "over_one_device": about(0.9, 1.05),
        "gain": about(0.9, 1.05),
    }
    return Row.model_validate({**told, **changed})


def test_wrong_and_missed_need_significance() -> None:
    """The whole interval has to lie below one device, or above it for what was missed."""
    assert row(TWO).wrong
    assert not row(TWO, over_one_device=about(0.9, 1.2)).wrong
    assert not row(ONE).wrong
    assert row(ONE, gain=about(1.2, 1.1)).missed
    assert not row(ONE, gain=about(1.2, 1.3)).missed
    assert not row(TWO, gain=about(1.2, 1.1)).missed


def test_what_failed_in_half_of_its_runs_is_no_best() -> None:
    known = Truth({ONE: {0: 100.0, 1: 50.0}, TWO: {1: 900.0}})
    assert known.best() == ONE
    assert known.ratio(TWO, ONE) is None


def test_the_page_has_the_n_that_there_are() -> None:
    """Median and lowest share, those that never came close, and wrong ones with their interval."""
    rows = [row(TWO), row(ONE, seed=1, share=about(0.5, 1.1), seconds_to_close=None)]
    text = "\n".join(figures(rows, "a machine", {"digits": 58}))
    assert "58 configurations, seeds 0, 1." in text
    assert (
        "| Optuna loop | 2 | 12 | 0.70, 0.50 | never, never in 1 of 2 | 1 of 2 (9.5% to 90.5%) |"
        in text
    )
