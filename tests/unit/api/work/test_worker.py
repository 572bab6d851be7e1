"""From a claimed job to the order for its process."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.api.requests import JobRequest
from autotune.api.settings import load_settings
from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import ClaimedJob, WorkerInfo
from autotune.api.work.checkouts import Checkouts
from autotune.api.work.worker import LAST_SECONDS, excluded, order
from autotune.api.workloads import Registry
from autotune.config import Configuration


@pytest.fixture
def claimed(jobs: Jobs, asked: JobRequest, database: Database) -> ClaimedJob:
    jobs.submit(asked, "me")
    found = attempts.claim(database, WorkerInfo(worker="w", devices="d", host="h"), 30)
    assert found is not None
    return found


def test_the_order_holds_what_the_operator_registered(
    claimed: ClaimedJob, registry: Registry, tmp_path: Path
) -> None:
    """Factories come from the registry, arguments from the checked parameters."""
    made = order(claimed, registry, load_settings(data=tmp_path), Checkouts(tmp_path))
    assert made.model == "examples/digits.py:model_fn"
    assert made.model_arguments == (("filters", 32),)
    assert made.out == tmp_path / "jobs" / claimed.job.id / "1"
    assert made.options.budget == 180


@pytest.mark.parametrize(("used", "left"), [(100.0, 80.0), (175.0, LAST_SECONDS), (999.0, 15.0)])
def test_what_earlier_attempts_used_is_gone(
    claimed: ClaimedJob, registry: Registry, used: float, left: float
) -> None:
    """The budget is the job's, but the last attempt has time to decide."""
    late = claimed.model_copy(update={"used_seconds": used})
    assert order(late, registry, load_settings(), Checkouts(Path())).options.budget == left


def test_a_configuration_is_set_aside_after_its_second_death() -> None:
    once, twice = Configuration(), Configuration(per_replica_batch=64)
    assert excluded((twice, once, twice)) == (twice,)
