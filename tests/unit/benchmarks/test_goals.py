"""The goals of the search, from what replayed searches were worth."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.result import Verdict
from benchmarks.replay.goals import EQUAL, FASTER, KNOWING, KNOWN, SOON, Goal, goals
from benchmarks.replay.outcome import Job, Scenario, Scored


def search(table: str, scenario: Scenario, seed: int = 0, **found: object) -> Scored:
    told = {
        "configurations": 64,
        "share": 1.0,
        "cost": 0.3,
        "trials": 20,
        "verdict": Verdict.ONE_DEVICE,
        "pruned_near": 0,
        "kept_near": 1,
        "skipped": 0,
        "wrong_skips": 0,
        "said": 0.97,
        "right": True,
        "gain_covered": True,
        "rate_covered": True,
        "residuals": (0.0, 0),
    }
    job = Job(table=table, scenario=scenario, seed=seed)
    return Scored(**{"job": job, **told, **found})


def of(what: str, results: Sequence[Scored]) -> Goal:
    return next(each for each in goals(results) if each.what.startswith(what))


def test_none_of_few_leaves_a_goal_open() -> None:
    """No wrong verdict in 20 searches does not show that fewer than 1 % are wrong."""
    found = of("wrong 'distribute'", [search("a", EQUAL, seed) for seed in range(20)])
    assert (found.reached, found.mark) == ("0.0% (0.0% to 16.1%)", "open")


def test_a_wrong_one_device_counts() -> None:
    """It is wrong where a tenth is to be had; 'undecided' is not."""
    verdicts = [Verdict.ONE_DEVICE, Verdict.UNDECIDED, Verdict.DISTRIBUTE]
    results = [search("a", FASTER, verdict=each) for each in verdicts]
    assert of("wrong 'one device'", results).reached.startswith("33.3%")
    assert of("wrong 'one device'", results).mark == "short"


def test_a_table_whose_measured_runs_scatter_more_is_scored_apart() -> None:
    """A gain at 3 % noise is not to be found where runs differ by more than what is drawn."""
    calm = search("calm", FASTER, verdict=Verdict.DISTRIBUTE, residuals=(10 * 0.03**2, 10))
    wild = search("wild", FASTER, verdict=Verdict.UNDECIDED, residuals=(10 * 0.09**2, 10))
    assert of("a true gain of 10 % is found at 3 %", [calm, wild]).n == 2
    assert of("the same, on tables", [calm, wild]).values == {"calm": [1.0]}


def test_no_skip_is_no_success() -> None:
    found = of("skipped", [search("a", EQUAL)])
    assert (found.n, found.mark) == (0, "not measured")
    found = of("skipped", [search("a", EQUAL, skipped=2, wrong_skips=1)])
    assert (found.n, found.mark) == (2, "short")


def test_the_table_behind_a_miss_is_named() -> None:
    """A rate over all tables may hide one."""
    results = [search("fine", SOON), search("poor", SOON, share=0.5)]
    found = of("share of the best", results)
    assert found.worst == "poor 50.0%"
    pruned = [search("fine", EQUAL), search("poor", EQUAL, pruned_near=3, kept_near=5)]
    assert of("stopped early", pruned).worst == "poor 3 of 8"


def test_a_search_that_is_told_the_best_shows_what_can_be_found_and_nothing_else() -> None:
    """Users have no such search, so that its intervals are not theirs."""
    told = search("a", KNOWN, verdict=Verdict.DISTRIBUTE, gain_covered=False)
    results = [search("a", FASTER), told]
    shown = [each.reached for each in goals(results) if each.what == KNOWING and each.n]
    assert [each.partition(" ")[0] for each in shown] == ["100.0%"]
    assert of("a true gain of 10 % is found at 3 % noise", results).reached.startswith("0.0%")
    assert of("the gain's interval holds the truth", results).n == 1
