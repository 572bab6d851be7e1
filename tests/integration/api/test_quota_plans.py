"""What it takes to take in a job of a project that has had many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from autotune.api.requests import JobRequest
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs

MANY = 20_000
FEW = 100
"""Most rows that a step may look at."""
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :many) "
JOBS = """
INSERT INTO jobs (id, project, workload, request, budget_seconds, state, attempt, events, trials,
    created_at, started_at, ended_at)
"""
ENDED = "SELECT 'job' || i, 'me', 'digits', '{}', 60, 'done', 1, 1, 0, i, i, i FROM n"
ATTEMPTS = """
INSERT INTO attempts (job_id, number, worker, host, marker, claimed_at, began_at, seen_at,
    ended_at, swept, messages)
"""
TRIED = "SELECT 'job' || i, 1, 'w', 'h', '', i, i, i, i, true, 1 FROM n"
Steps = list[tuple[str, int | None]]
"""What the database does, and how many rows it looks at where it says so."""


@pytest.fixture
def crowded(database: Database) -> Database:
    """A database in which one project has had very many jobs, which all ended long ago."""
    with database.migrating() as connection:  # It may take as long as it needs.
        for into, what in ((JOBS, ENDED), (ATTEMPTS, TRIED)):
            connection.execute(text(f"{into}{NUMBERS}{what}"), {"many": MANY})
        connection.execute(text("ANALYZE"))
    return database


def explained(connection: Connection, statement: str, parameters: Any) -> Steps:
    """Return the steps of a statement; PostgreSQL runs it to count their rows."""
    with closing(connection.connection.cursor()) as cursor:
        if connection.dialect.name == "sqlite":
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return [(row[3], None) for row in cursor.fetchall()]
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        return [*walked(cursor.fetchall()[0][0][0]["Plan"])]


def walked(node: dict[str, Any]) -> Iterator[tuple[str, int | None]]:
    looked = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    yield f"{node['Node Type']} {node.get('Relation Name', '')}", round(looked)
    for each in node.get("Plans", ()):
        yield from walked(each)


def test_a_project_of_many_jobs_is_served_by_few_rows(crowded: Database, jobs: Jobs) -> None:
    """The quota is found by indexes: nothing of what ended before its window is looked at."""
    steps: Steps = []

    def explain(*asked: Any) -> None:
        connection, _, statement, parameters, *_ = asked
        if statement.startswith("SELECT"):
            steps.extend(explained(connection, statement, parameters))

    engine = crowded._writer.engine
    event.listen(engine, "before_cursor_execute", explain)
    made = Jobs(crowded, jobs._registry, jobs._quotas)
    made.submit(JobRequest(workload="digits"), "me")
    event.remove(engine, "before_cursor_execute", explain)
    of_jobs = [each for each in steps if "jobs" in each[0]]
    assert len(of_jobs) >= 4
    walks = {f"{scan} {table}" for scan in ("SCAN", "Seq Scan") for table in ("jobs", "attempts")}
    assert not [each for each in steps if each[0].startswith((*walks,))], steps
    assert not [each for each in of_jobs if each[0].endswith("(project=?)")], of_jobs
    assert [rows for _, rows in steps if (rows or 0) > FEW] == [], steps
