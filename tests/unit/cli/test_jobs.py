"""Giving jobs to another project."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from typer.testing import Result

from autotune.api.requests import JobRequest
from autotune.api.settings import Quotas, load_settings
from autotune.api.store.jobs import Jobs, open_database
from autotune.api.workloads import Registered, Registry

Run = Callable[..., Result]


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    """Those of a service in the working folder."""
    database = open_database(load_settings())
    registry = Registry({"digits": Registered(model="m.py:f", dataset="m.py:g")})
    yield Jobs(database, registry, Quotas())
    database.close()


def test_jobs_are_reassigned(run: Run, jobs: Jobs) -> None:
    """All of a project, or those that are named."""
    first, _, third = (jobs.submit(JobRequest(workload="digits"), "old").id for _ in range(3))
    done = run("jobs", "reassign", "old", "--to", "new", "--job", first)
    assert "1 job of old given to new." in done.stderr
    assert [each.id for each in jobs.page("new").tunings] == [first]
    assert "2 jobs of old" in run("jobs", "reassign", "old", "--to", "new").stderr
    assert jobs.get(third, "new").project == "new"


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(("to", "code"), [("new", 3), ("", 2), ("a\nb", 2)])
def test_a_mistake_is_told(run: Run, to: str, code: int) -> None:
    """A project without jobs, and a name that is none."""
    assert run("jobs", "reassign", "old", "--to", to).exit_code == code
