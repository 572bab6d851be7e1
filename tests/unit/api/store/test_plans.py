"""The queries of a long queue, as SQLite would run them: none of them walks all that wait."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import CompoundSelect, Select, event, insert, select, text

from autotune.api.states import State
from autotune.api.store import attempts, queue, reading
from autotune.api.store.database import Database
from autotune.api.store.tables import jobs

QUERIES = {
    "kinds": queue._kinds(),
    "next": queue._first_queued(),
    "kinds left behind": queue._LEFT_KINDS,
    "left behind": queue._LEFT_BEHIND,
    "ahead": attempts._AHEAD,
    "labelled": reading._page_query(frozenset(), frozenset({"project", "label_0", "label_1"})),
    "everybody's labelled": reading._page_query(frozenset(), frozenset({"label_0"})),
}

GIVEN = {
    "kinds": ["k"],
    "project": "me",
    "label_0": "a:b",
    "label_1": "c:d",
    "limit": 20,
    "seconds": 30.0,
}


@pytest.fixture(params=[False, True], ids=["new", "analyzed"])
def database(database: Database, request: pytest.FixtureRequest) -> Database:
    """Return a new database, and one that knows that half its jobs wait and the others ended."""
    if request.param:
        job = {"project": "me", "workload": "w", "request": "{}", "budget_seconds": 1.0}
        job |= {"attempt": 0, "events": 0, "trials": 0, "created_at": 0.0, "precedence": 0}
        states = [State.QUEUED, State.DONE] * 200
        rows = [{**job, "id": str(n), "state": each} for n, each in enumerate(states)]
        with database.writing() as connection:
            connection.execute(insert(jobs), rows)
            connection.execute(text("ANALYZE"))
    return database


def plan(database: Database, query: Select[Any] | CompoundSelect[Any]) -> list[str]:
    """Return what SQLite does, step by step."""
    found: list[str] = []

    def explain(*asked: Any) -> None:
        connection, _, statement, parameters, *_ = asked
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found.extend(row[3] for row in cursor.fetchall())

    with database.reading() as connection:
        event.listen(connection, "before_cursor_execute", explain)
        connection.execute(query, GIVEN)
    return found


@pytest.mark.parametrize("name", ["kinds", "next"])
def test_kinds_are_found_one_after_the_other(database: Database, name: str) -> None:
    """An index of the states alone would lead through all that wait."""
    steps = plan(database, QUERIES[name])
    assert not [each for each in steps if "ix_jobs_state_jobs_seq" in each], steps
    assert any("state=? AND kind>?" in each for each in steps), steps


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_of_the_queue_goes_by_an_index(database: Database, name: str) -> None:
    """Of the jobs, and of their labels, it only looks up what it wants."""
    steps = plan(database, QUERIES[name])
    assert any("INDEX" in each for each in steps), steps
    assert not [each for each in steps if each.startswith("SCAN jobs")], steps
    assert not [each for each in steps if each.startswith("SCAN labels")], steps


def test_a_list_by_label_is_read_in_order(database: Database) -> None:
    """Without sorting all that have it."""
    for name in ("labelled", "everybody's labelled"):
        assert not [each for each in plan(database, QUERIES[name]) if "TEMP B-TREE" in each]


def test_a_walk_would_be_seen(database: Database) -> None:
    """Otherwise the other tests could not fail."""
    walk = select(jobs.c.id).where(jobs.c.reason == "x")
    assert any(each.startswith("SCAN jobs") for each in plan(database, walk))
