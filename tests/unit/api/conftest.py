"""A service on SQLite, made anew for each test from a schema that is migrated once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.api.settings import Quotas
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import make
from autotune.api.workloads import Declared, Parameter, Registry, registered
from autotune.wire.jobs import Job, JobRequest

DIGITS = Declared(
    model="examples/digits.py:model_fn",
    dataset="examples/digits.py:dataset_fn",
    parameters={
        "filters": Parameter(type="int", default=32, minimum=1, maximum=512),
        "colour": Parameter(type="str", default="grey", choices=("grey", "red"), dataset=True),
    },
)


@pytest.fixture(scope="session")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "service.db"
    database = Database(f"sqlite:///{path}")
    make(database)
    database.close()
    return path


@pytest.fixture
def database(schema: Path, tmp_path: Path) -> Iterator[Database]:
    shutil.copy(schema, tmp_path / "service.db")
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    yield database
    database.close()


@pytest.fixture
def registry() -> Registry:
    return Registry({"digits": registered(DIGITS)})


@pytest.fixture
def quotas() -> Quotas:
    return Quotas(queued=2)


@pytest.fixture
def jobs(database: Database, registry: Registry, quotas: Quotas) -> Jobs:
    return Jobs(database, registry, quotas)


@pytest.fixture
def asked() -> JobRequest:
    return JobRequest(workload="digits", budget=180.0)


@pytest.fixture
def job(jobs: Jobs, asked: JobRequest) -> Job:
    return jobs.submit(asked, "me")
