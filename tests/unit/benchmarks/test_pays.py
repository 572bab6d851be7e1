"""What a search costs and saves, as `make bench-pays` counts it."""

from collections.abc import Iterator

import pytest

from autotune.answer import Verdict
from autotune.config import Configuration
from benchmarks.pays.cases import Case, fixed
from benchmarks.pays.figures import (
    LENGTHS,
    Goal,
    Row,
    calibration,
    goals,
    grouped,
    hindsight,
    row_of,
)
from benchmarks.pays.searches import BUDGETS, Found, optunas, until, within, without_search
from benchmarks.peers.job import Entry

CASE = Case(table="conv")


def found(configuration: Configuration, **fields: object) -> Found:
    return Found(**{"recommended": configuration, "verdict": Verdict.ONE_DEVICE, **fields})


def rows(cost: float, table: str = "conv", search: str = "autotune", **fields: object) -> list[Row]:
    """Return a row for each length, of a search without fault but for its cost."""
    row = row_of(search, CASE, 0, 60.0, found(CASE.own))
    same = {"table": table, "cost": cost, "over_own": 1.0, "share": 1.0, **fields}
    return [row.model_copy(update={"training": length, **same}) for length in LENGTHS]


def of(what: str, scored: Iterator[Goal]) -> Goal:
    return next(each for each in scored if each.what.startswith(what))


def test_seconds_of_the_search_count_as_seconds_of_the_training() -> None:
    """At the best settings a search of a minute doubles a training of a minute."""
    best = max(CASE.world.rates, key=CASE.world.rates.__getitem__)
    ratio = CASE.world.best / CASE.world.rates[CASE.own]
    row = row_of("any", CASE, 0, 60.0, found(best, seconds=60.0))
    assert row.cost == pytest.approx(1 + ratio)
    assert row.over_own == pytest.approx(1 + 1 / ratio)
    assert row_of("any", CASE, 0, 60.0, found(CASE.own)).over_own == 1.0


def test_a_held_batch_leaves_nothing_else_to_be_found() -> None:
    """The own settings and a rule of thumb have it, too; few tables have enough of it."""
    cases = fixed(["conv", "gru", "towers"])
    assert [each.table for each in cases] == ["conv", "towers"]
    for case in cases:
        assert {each.global_batch for each in case.world.rates} == {case.batch}
        assert {each.distributed for each in case.world.rates} == {False, True}
        free = [found.recommended for *_, found in without_search(case, 0, {})]
        assert {each.global_batch for each in free} == {case.batch}


def test_one_search_is_all_that_begin_no_trial_after_their_budget() -> None:
    """The trial that is under way then is waited for, and nothing after it counts."""
    pool = [Configuration(per_replica_batch=2**n) for n in range(3)]
    log = [
        Entry(seconds=10.0 * n + 10, what="trial", configuration=each, rate=n + 1.0)
        for n, each in enumerate(pool)
    ]
    assert [until(each, log, CASE).seconds for each in (5, 10, 11, 99)] == [10, 10, 20, 30]
    assert until(15, log, CASE).recommended == pool[1]
    failed = [log[0].model_copy(update={"rate": None})]
    assert until(15, failed, CASE).recommended == CASE.own
    assert within(25, log, CASE) == Found(recommended=pool[1], seconds=25, trials=2)


def test_a_terminated_search_takes_no_longer_than_the_terminator_needs() -> None:
    """Twenty trials at least, known ones included, which cost nothing."""
    beside = {60.0: 15.0, 300.0: 40.0}
    every = [*optunas("random search", CASE, 0, beside)]
    same = [(where, each.seconds) for name, where, each in every if name.endswith("the same time")]
    assert same == [([60.0], 15.0), ([300.0], 40.0)]
    made = {name: each for name, where, each in every if where == [*beside]}
    assert list(made)[:-1] == [f"random search, {each} s" for each in BUDGETS]
    ended = made["random search, Optuna's terminator"]
    assert 10 < ended.trials <= len(CASE.world.table.configurations)


def test_a_goal_is_missed_beyond_its_interval() -> None:
    """One bad table of many leaves it short, and bad ones alone do not."""
    good = [each for n in range(9) for each in rows(1.0, table=f"good {n}")]
    assert of("cost at 1 h, mean", goals(good)).mark == "reached"
    assert of("cost at 1 h, mean", goals(good + rows(3.0, "bad"))).mark == "short"
    assert of("cost at 1 h, mean", goals(good + rows(3.0, "bad"))).furthest == "bad 3.000"
    assert of("cost at 1 h, mean", goals(rows(3.0, "bad"))).mark == "MISSED"
    assert of("cost on the worst", goals(good + rows(3.0, "bad"))).mark == "MISSED"


def test_none_of_few_is_no_proof() -> None:
    """No wrong answer of nine leaves a fifth possible; costs that are alike are certain."""
    few = [each for n in range(3) for each in rows(1.0, f"t{n}")]
    wrong, cost = of("wrong", goals(few)), of("cost at 1 h", goals(few))
    assert (wrong.n, wrong.mark) == (9, "reached")
    assert wrong.interval[1] > 0.2
    assert cost.interval == (1.0, 1.0)


def test_probabilities_are_held_against_what_is_so() -> None:
    """Nine of ten with 90 % are as told; all with 55 % are right too often."""
    told = [rows(1.0, f"t{n}", probability=0.92, right=n > 0)[0] for n in range(10)]
    timid = [rows(1.0, f"t{n}", probability=0.55, right=True)[0] for n in range(40)]
    assert [each.mark for each in calibration(told + timid)] == ["MISSED", "reached"]


def test_hindsight_takes_the_best_budget_of_each_table_or_none() -> None:
    """A budget that is best in the mean need not be on any table."""
    known = [
        *rows(2.0, "a", "no search"), *rows(1.5, "a", "TPE, 30 s"), *rows(1.2, "a", "TPE, 60 s"),
        *rows(1.1, "b", "no search"), *rows(1.3, "b", "TPE, 30 s"), *rows(1.6, "b", "TPE, 60 s"),
    ]  # fmt: skip
    ((name, best),) = hindsight(grouped(known, lambda e: e.search))
    assert name.startswith("TPE, the best")
    assert {(each.table, each.cost) for each in best} == {("a", 1.2), ("b", 1.1)}
