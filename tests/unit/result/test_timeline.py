"""The trials over the time of a search, as charts take them."""

from __future__ import annotations

import pytest

from autotune.objective import COST, MAX_THROUGHPUT, throughput_of
from autotune.plain import Window
from autotune.reason import Outcome
from autotune.result.timeline import timeline

from .conftest import PAIR, make_trial


def test_the_time_of_a_trial_goes_to_its_phases() -> None:
    """One after the other without a gap, and what is left is its ending."""
    windows = (Window(4, 1.0), Window(4, 0.5), Window(4, 0.5))
    times = {"start_seconds": 2.0, "first_step_seconds": 1.0, "steady_from": 1}
    trial = make_trial(0, windows=windows, wall_seconds=6.0, ended_at=106.0, **times)
    later = make_trial(1, wall_seconds=3.0, ended_at=112.0)
    first, second = timeline([trial, later], throughput_of, MAX_THROUGHPUT)["trials"]
    assert first["phases"] == [
        ("start", 0.0, 2.0),
        ("tracing", 2.0, 3.0),
        ("warm-up", 3.0, 4.0),
        ("measuring", 4.0, 5.0),
        ("ending", 5.0, 6.0),
    ]
    assert second["phases"][0][1] == 9.0


def test_only_a_measured_trial_becomes_the_best() -> None:
    """A pruned one has a figure, too, but no better one counts for it."""
    pruned = make_trial(1, PAIR, outcome=Outcome.PRUNED, examples_per_second=9000.0)
    trials = [make_trial(0), pruned, make_trial(2, examples_per_second=1500.0)]
    found = timeline(trials, throughput_of, MAX_THROUGHPUT)["trials"]
    assert [each["value"] for each in found] == [1000.0, 9000.0, 1500.0]
    assert [each["best"] for each in found] == [1000.0, 1000.0, 1500.0]
    assert ["strategy", "mirrored"] in [list(each) for each in found[1]["axes"]]


def test_less_is_better_where_the_objective_says_so() -> None:
    """Figures are those of the objective, not the scores that a search compares."""
    trials = [make_trial(0), make_trial(1)]
    found = timeline(trials, lambda each: 2.0 + each.number, COST)["trials"]
    assert [each["best"] for each in found] == [pytest.approx(1 / 2), pytest.approx(1 / 3)]
