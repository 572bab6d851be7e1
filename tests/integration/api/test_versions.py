"""A database of the version before is opened with this one, on both databases."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from autotune.api.requests import JobRequest
from autotune.api.settings import Quotas
from autotune.api.states import State
from autotune.api.store import attempts
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.migrations import migrate
from autotune.api.values import Post
from autotune.api.workloads import Registered, Registry
from autotune.events import TrialEnded

PREVIOUS = Path(__file__).with_name("previous.sql")
DONE, RUNNING, QUEUED = (
    "acd2d77b887edc7b2af3370b",
    "c13613eed8ab7c9724b1484b",
    "d8d10e53bc59ea3c16a4ebe3",
)
FIRST = "c6f8e7b056d17ec2"
SECRET = "autotune_Ie8qyMIkD0y6pKzznLVFNL3o2uD2tP-oXEK-0KE1y1c"  # noqa: S105 - of the file alone
REGISTRY = Registry({"digits": Registered(model="m.py:f", dataset="m.py:g")})


@pytest.fixture
def previous(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database as the version before has left it."""
    if request.param == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'previous.db'}")
        connection = sqlite3.connect(tmp_path / "previous.db")
        connection.executescript(PREVIOUS.read_text("utf-8"))
        connection.close()
        yield database
        database.close()
        return
    server = request.getfixturevalue("postgresql")
    server.execute("CREATE DATABASE previous")
    database = Database(server.url("previous"))
    migrate(database, to="0001")
    with database.writing() as connection:
        for each in re.findall(
            r"^INSERT .*?;$", PREVIOUS.read_text("utf-8"), re.DOTALL | re.MULTILINE
        ):
            if "autotune_version" not in each[:40]:
                connection.execute(text(each.replace(":", r"\:")))
        connection.exec_driver_sql("SELECT setval('jobs_seq_seq', 3)")
    yield database
    database.close()
    server.execute("DROP DATABASE previous WITH (FORCE)")


both = pytest.mark.parametrize("previous", ["sqlite", "postgresql"], indirect=True)


@both
def test_a_database_of_the_version_before_is_read_as_it_is(previous: Database) -> None:
    """Jobs, events, trials, the recommendation: nothing is lost, and no row is rewritten."""
    migrate(previous)
    jobs = Jobs(previous, REGISTRY, Quotas())
    assert [each.id for each in jobs.page(FIRST).tunings] == [QUEUED, RUNNING, DONE]
    assert jobs.get(DONE, FIRST).reason is None
    (told,) = [each.body for each in jobs.events(DONE, FIRST) if isinstance(each.body, TrialEnded)]
    (trial,) = jobs.trials(DONE, FIRST)
    assert told.trial.examples_per_second == trial.trial.examples_per_second == 1000.0
    assert jobs.recommendation(DONE, FIRST).script == "print('trained')\n"


@both
def test_jobs_of_the_version_before_go_on(previous: Database) -> None:
    """One that ran is resumed from its trial, one that waited is claimed after it."""
    migrate(previous)
    for job_id, kept in ((RUNNING, 1), (QUEUED, 0)):
        post = Post(worker="w", devices="bench", host="h", workloads={"digits": ""})
        claimed = attempts.claim(previous, post, 30.0)
        assert claimed is not None
        assert (claimed.job.id, len(claimed.kept)) == (job_id, kept)
        assert claimed.unreadable is None
        attempts.let_go(previous, claimed.grip, attempts.RELEASED, "stopped")
        Jobs(previous, REGISTRY, Quotas()).cancel(job_id, FIRST)


@both
def test_a_key_of_the_version_before_keeps_its_jobs(previous: Database) -> None:
    """It has a project of its own, and the same request makes no second job."""
    migrate(previous)
    key = Keyring(previous).recognise(SECRET)
    jobs = Jobs(previous, REGISTRY, Quotas())
    assert jobs.get(QUEUED, key.project).state is State.QUEUED
    made = jobs.submit(JobRequest(workload="digits", budget=60), key.project, "new")
    assert made.owner == FIRST


def test_the_first_schema_is_not_changed_any_more(tmp_path: Path) -> None:
    """Databases have it: what is needed is added by a later migration."""
    made = Database(f"sqlite:///{tmp_path / 'made.db'}")
    migrate(made, to="0001")
    made.close()
    with sqlite3.connect(":memory:") as kept:
        kept.executescript(PREVIOUS.read_text("utf-8"))
        assert schema(sqlite3.connect(tmp_path / "made.db")) == schema(kept)


def schema(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {" ".join(sql.split()) for (sql,) in rows}
