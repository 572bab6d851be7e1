"""An order as a worker gives it to the process of a search."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autotune.api.settings import load_settings
from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import WorkerInfo
from autotune.api.work.attempt import order
from autotune.api.work.child import SearchOrder
from autotune.api.workloads import Registry
from autotune.wire.jobs import JobRequest


@pytest.fixture
def order_after(
    jobs: Jobs, asked: JobRequest, database: Database, registry: Registry, tmp_path: Path
) -> Callable[..., SearchOrder]:
    """Makes the order for a claimed job, of whose request or earlier attempts more is known."""
    jobs.submit(asked, "me")
    claimed = attempts.claim(database, WorkerInfo(worker="w", devices="d", host="h"), 30)

    def order_after(asked: Mapping[str, object] | None = None, **known: object) -> SearchOrder:
        job = claimed.job.model_copy(update=asked)
        found = claimed.model_copy(update={"job": job, **known})
        return order(found, registry, load_settings(data=tmp_path))

    return order_after
