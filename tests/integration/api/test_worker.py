"""Workers as real processes: crashes, cancelling, orphans, and what is left of a job after them."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import select

from autotune.api.settings import Settings
from autotune.api.store import attempts, tables
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.work import processes
from autotune.api.work.attempt import Tuner
from autotune.api.work.worker import Worker
from autotune.api.workloads import Declared
from autotune.wire.events import Ended
from autotune.wire.jobs import FINAL, Job, JobRequest, State
from benchmarks.service.site import Process, until
from tests.trials import ended_trial

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.long,
    pytest.mark.parametrize("url", ["sqlite"], indirect=True),
]
Start = Callable[..., Process]


def markers(database: Database) -> list[str]:
    with database.reading() as connection:
        return [*connection.execute(select(tables.attempts.c.marker)).scalars()]


def living(database: Database) -> list[psutil.Process]:
    return [one for each in markers(database) for one in processes.marked(each)]


def alive(database: Database) -> int:
    return len(living(database))


def check_ended_once(jobs: Jobs, job: Job) -> Job:
    shown = jobs.events(job.id, None)
    assert [each.number for each in shown] == list(range(1, len(shown) + 1))
    assert [each for each in shown if isinstance(each.body, Ended)] == [shown[-1]]
    recorded = jobs.detail(job.id, None).trials
    assert [each.number for each in recorded] == list(range(len(recorded)))
    return jobs.get(job.id, None)


def check_done(jobs: Jobs, job: Job) -> Job:
    ended = check_ended_once(jobs, job)
    assert ended.state is State.DONE, ended.reason
    found = jobs.recommendation(job.id, None)
    assert found.trials == jobs.detail(job.id, None).trials
    assert "import" in found.script
    return ended


STEPS = [
    *((attempts, each) for each in ("claim", "renew", "note_process", "record", "finish")),
    *((Tuner, each) for each in ("go", "listen", "end")),
]
"""What a worker does durably, or with its process."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=lambda each: getattr(each, "__name__", each))
def test_a_crash_anywhere_loses_nothing(
    jobs: Jobs,
    asked: JobRequest,
    database: Database,
    settings: Settings,
    owner: Any,
    name: str,
    *,
    after: bool,
) -> None:
    """A worker dies by SIGKILL at whatever step; the job ends once, with all its trials."""
    job = jobs.submit(asked, "me")
    pid = os.fork()
    if pid == 0:
        real = getattr(owner, name)

        def dying(*given: Any, **named: Any) -> None:
            if after:
                real(*given, **named)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, dying)
        Worker(Database(settings.database_url), settings, adopts=True).run_one()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    second = Worker(database, settings)
    if jobs.get(job.id, None).state not in FINAL:
        until(second.run_one)
    assert check_done(jobs, job).attempt <= 2
    assert alive(database) == 0


@pytest.mark.parametrize("engine", ["sleepers", "stubborn"])
def test_a_cancelled_job_is_gone_within_ten_seconds(
    jobs: Jobs, asked: JobRequest, database: Database, start_worker: Start, engine: str
) -> None:
    """After a second nothing new starts, after ten nothing is left, whatever they ignore."""
    job = jobs.submit(asked, "me")
    start_worker(engine)
    until(lambda: alive(database) >= 4)
    jobs.cancel(job.id, "me")
    time.sleep(1)
    seen = set(living(database))
    assert until(lambda: not set(living(database)) <= seen or alive(database) == 0) < 9
    assert alive(database) == 0
    assert until(lambda: jobs.get(job.id, None).state in FINAL) < 5
    assert check_ended_once(jobs, job).state is State.CANCELLED


def test_a_cancelled_job_keeps_what_was_found(
    jobs: Jobs, asked: JobRequest, start_worker: Start
) -> None:
    job = jobs.submit(asked.model_copy(update={"max_trials": 50}), "me")
    start_worker("slow")
    until(lambda: jobs.get(job.id, None).trials >= 3)
    jobs.cancel(job.id, "me")
    until(lambda: jobs.get(job.id, None).state in FINAL)
    ended = check_ended_once(jobs, job)
    assert ended.state is State.CANCELLED
    assert ended.reason
    assert jobs.recommendation(job.id, None).interrupted


def test_a_search_that_overruns_its_budget_is_ended(
    jobs: Jobs, asked: JobRequest, database: Database, start_worker: Start
) -> None:
    """The budget is kept to within seconds, even by a search that does not look at the clock."""
    job = jobs.submit(asked.model_copy(update={"budget": 15.0}), "me")
    start_worker("stubborn")
    until(lambda: alive(database) >= 4)
    assert until(lambda: jobs.get(job.id, None).state in FINAL) < 15 + 10
    ended = check_ended_once(jobs, job)
    assert ended.state is State.FAILED
    assert ended.reason
    assert "its budget of 15 s and was stopped. Ask for it again" in ended.reason
    assert alive(database) == 0


def test_a_worker_that_is_told_to_stop_puts_its_job_back(
    jobs: Jobs, asked: JobRequest, database: Database, start_worker: Start
) -> None:
    job = jobs.submit(asked, "me")
    worker = start_worker("sleepers")
    until(lambda: alive(database) >= 4)
    worker.terminate()
    assert worker.wait(10) == 0
    assert alive(database) == 0
    assert jobs.get(job.id, None).state is State.QUEUED


def test_a_job_that_always_dies_fails(
    jobs: Jobs, asked: JobRequest, database: Database, settings: Settings
) -> None:
    job = jobs.submit(asked, "me")
    worker = Worker(database, settings.model_copy(update={"deaths": 2, "engine": "os:abort"}))
    until(lambda: not worker.run_one() and jobs.get(job.id, None).state in FINAL)
    ended = check_ended_once(jobs, job)
    assert (ended.state, ended.attempt) == (State.FAILED, 3)
    assert ended.reason
    assert "crashed 2 times" in ended.reason


def test_a_job_knows_the_code_that_it_measured(
    jobs: Jobs, database: Database, settings: Settings, tmp_path: Path, asked: JobRequest
) -> None:
    (tmp_path / "toy.py").write_text("f = g = 1")
    declared = {"digits": Declared(model="toy.py:f", dataset="toy.py:g")}
    own = settings.model_copy(update={"root": tmp_path, "workloads": declared})
    worker, job = Worker(database, own), jobs.submit(asked.model_copy(update={"params": {}}), "me")
    claimed = attempts.claim(database, worker._info(), 5.0)
    assert claimed is not None
    code = own.registry()["digits"].code(tmp_path)
    assert jobs.get(job.id, None).code == code
    attempts.record(database, claimed.token, AttemptReport(number=1, trial=ended_trial()))
    attempts.let_go(database, claimed.token, attempts.RELEASED, "stopped")
    (tmp_path / "toy.py").write_text("f = g = 2")
    assert worker.run_one()
    ended = jobs.get(job.id, None)
    assert ended.state is State.FAILED
    assert "code has changed since its first trials" in (ended.reason or "")
    assert (ended.code, ended.code_changed) == (code, True)
