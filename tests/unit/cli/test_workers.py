"""Listing and draining the workers of a service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autotune.api.settings import load_settings
from autotune.api.store import workers
from autotune.api.store.database import Database
from autotune.api.store.jobs import open_database
from autotune.api.values import WorkerInfo
from autotune.testing import FAKE_MACHINE

from .conftest import Run

POST = WorkerInfo(
    worker="w1",
    devices="bench",
    host="h",
    workloads={"digits": "c0de"},
    machine=FAKE_MACHINE,
    labels=("fast",),
)


@pytest.fixture
def database() -> Iterator[Database]:
    """That of a service in the working folder, with a worker."""
    database = open_database(load_settings())
    workers.seen(database, POST)
    yield database
    database.close()


def is_draining(database: Database) -> bool:
    with database.reading() as connection:
        return workers.there(connection)[0].draining


@pytest.mark.usefixtures("database")
def test_workers_are_listed(run: Run) -> None:
    """With machine, labels and workloads."""
    text = run("workers", "list").stdout
    for each in ("w1", "waits", "2 CPU cores", "fast", "digits"):
        assert each in text


def test_a_worker_is_drained_and_goes_on(run: Run, database: Database) -> None:
    """By its name."""
    done = run("workers", "drain", "w1")
    assert (done.exit_code, is_draining(database)) == (0, True)
    assert "Worker w1 takes no further job." in done.stderr
    assert run("workers", "resume", "w1").exit_code == 0
    assert not is_draining(database)


@pytest.mark.usefixtures("database")
def test_a_worker_that_is_not_there_is_told(run: Run) -> None:
    """With what to do."""
    done = run("workers", "drain", "w2")
    assert done.exit_code == 3
    assert "Worker not found." in done.stderr
