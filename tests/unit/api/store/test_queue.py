"""Whose turn it is, what a job that waits is told, and which workers are there."""

import pytest
from sqlalchemy import update

from autotune.api.settings import Quotas
from autotune.api.store import attempts, tables, workers
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import ClaimedJob, JobOutcome, WorkerInfo
from autotune.events import Notice
from autotune.wire.events import Released
from autotune.wire.jobs import Job, JobRequest, State, Waiting, WaitsFor
from tests.engines.fake import FAKE_MACHINE, fake_machine
from tests.trials import ended_trial

HAS = {"digits": "c0de"}
PLAIN = WorkerInfo(worker="p", devices="plain", host="h", workloads=HAS, machine=FAKE_MACHINE)
PAIR = WorkerInfo(
    worker="g",
    devices="pair",
    host="h",
    workloads=HAS,
    machine=fake_machine(gpus=("H100", "H100")),
    labels=("fast",),
)
BARE = WorkerInfo(worker="b", devices="bare", host="h", workloads={})


@pytest.fixture
def quotas() -> Quotas:
    return Quotas(queued=100, device_seconds=1e9)


def submit(jobs: Jobs, project: str = "me", **more: object) -> Job:
    asked = JobRequest.model_validate({"workload": "digits", "budget": 60, **more})
    return jobs.submit(asked, project)


def claim(database: Database, info: WorkerInfo) -> ClaimedJob:
    claimed = attempts.claim(database, info, 30.0)
    assert claimed is not None
    return claimed


@pytest.fixture
def measured(database: Database, job: Job) -> ClaimedJob:
    del job
    workers.seen(database, PLAIN)
    claimed = claim(database, PLAIN)
    attempts.record(database, claimed.token, AttemptReport(number=1, trial=ended_trial()))
    return claimed


def pass_by(database: Database, seconds: float) -> None:
    with database.writing() as connection:
        for table, column in ((tables.workers, "seen_at"), (tables.jobs, "expires_at")):
            earlier = {column: table.c[column] - seconds}
            connection.execute(update(table).values(earlier))


def test_a_job_that_no_worker_can_run_says_what_it_needs(database: Database, jobs: Jobs) -> None:
    job = submit(jobs, needs={"kind": "H100", "devices": 2, "labels": ["fast"]})
    needs = "at least 2 H100 devices, labelled fast"
    workers.seen(database, PLAIN)
    for _ in range(2):
        attempts.mark_unserved(database)
    found = jobs.placed(job.id, "me")
    assert found.reason == f"Waits for a worker with the workload 'digits', {needs}; none is there."
    assert found.waiting == Waiting(kind=WaitsFor.WORKER)
    assert found.waiting.sentence == "No worker that is there can run it."
    shown = [each.body for each in jobs.events(job.id, "me")]
    assert shown.count(Notice(text=found.reason)) == 1
    assert jobs.activity()[1] == 1
    workers.seen(database, PAIR)
    attempts.mark_unserved(database)
    assert jobs.placed(job.id, "me").reason is None
    assert jobs.activity()[1] == 0


@pytest.mark.parametrize("killed", [True, False])
def test_a_job_that_no_worker_can_go_on_with_says_so(
    database: Database, jobs: Jobs, job: Job, measured: ClaimedJob, *, killed: bool
) -> None:
    """After the host's name has changed it neither waits in silence nor seems to run."""
    if killed:
        pass_by(database, 10_000)
    else:
        attempts.let_go(database, measured.token, attempts.RELEASED, "The worker was shut down.")
        workers.leave(database, PLAIN)
    workers.seen(database, PAIR)
    assert attempts.claim(database, PAIR, 30.0) is None
    attempts.mark_unserved(database)
    found = jobs.get(job.id, "me")
    assert found.state is State.QUEUED
    assert "on the devices 'plain'" in found.reason
    assert jobs.activity()[1] == 1
    said = Released(attempt=1, reason=found.reason) if killed else Notice(text=found.reason)
    assert jobs.events(job.id, "me")[-1].body == said


def test_a_worker_without_the_workload_leaves_the_job(
    database: Database, jobs: Jobs, job: Job
) -> None:
    """One that is set up wrongly does not eat the queue; what was cancelled it can end."""
    workers.seen(database, BARE)
    assert attempts.claim(database, BARE, 30.0) is None
    attempts.mark_unserved(database)
    assert "the workload 'digits'" in (jobs.get(job.id, "me").reason or "")
    claim(database, PLAIN)
    jobs.cancel(job.id, "me")
    pass_by(database, 10_000)
    assert claim(database, BARE).job.id == job.id


def test_a_job_that_waits_knows_its_place(database: Database, jobs: Jobs) -> None:
    workers.seen(database, PLAIN)
    first = [submit(jobs, "me").id for _ in range(3)]
    claimed = claim(database, PLAIN)
    yours = submit(jobs, "you")
    places = [jobs.placed(each, None).waiting for each in (yours.id, *first[1:])]
    assert [each and each.before for each in places] == [0, 1, 2]
    assert places[0].sentence == "It is next."
    assert jobs.placed(first[0], None).waiting == Waiting(kind=WaitsFor.MACHINE)
    attempts.record(database, claimed.token, AttemptReport(number=1, began=True))
    assert jobs.placed(first[0], None).waiting is None


def test_projects_take_turns_within_each_priority(database: Database, jobs: Jobs) -> None:
    """Whoever has had a job of a higher one comes after who has not."""
    first = [submit(jobs, each).id for each in "abba"]
    later = [submit(jobs, each, priority=-1).id for each in "acac"]
    with database.reading() as connection:
        order = [row.id for row in attempts.queued(connection)]
    assert order[:4] == [first[each] for each in (0, 1, 3, 2)]
    assert order[4:] == [later[each] for each in (1, 0, 3, 2)]


def test_only_rivals_for_the_same_workers_count(database: Database, jobs: Jobs) -> None:
    for each in (PLAIN, PAIR):
        workers.seen(database, each)
    for label in ("fast", "nowhere"):
        submit(jobs, "you", needs={"labels": [label]})
    waits = [submit(jobs, "me", needs={"kind": "cpu"}), submit(jobs, "me")]
    places = [jobs.placed(each.id, "me").waiting for each in waits]
    assert [each and each.before for each in places] == [0, 2]


@pytest.mark.parametrize("begins", [True, False])
def test_waiting_for_the_machine_is_none_of_a_search(
    database: Database, jobs: Jobs, job: Job, *, begins: bool
) -> None:
    claimed = claim(database, PLAIN)
    with database.writing() as connection:
        connection.execute(update(tables.jobs).values(started_at=1.0))
    if begins:
        attempts.record(database, claimed.token, AttemptReport(number=1, began=True))
        started = jobs.get(job.id, "me").started_at
        assert started > 1.0
        attempts.let_go(database, claimed.token, attempts.RELEASED, "It was stopped.")
        again = claim(database, PLAIN)
        attempts.record(database, again.token, AttemptReport(number=1, began=True))
        assert jobs.get(job.id, "me").started_at == started
    else:
        jobs.cancel(job.id, "me")
        attempts.finish(database, claimed.token, JobOutcome(state=State.CANCELLED))
        assert jobs.get(job.id, "me").started_at is None


def test_a_worker_that_runs_a_job_is_there(
    database: Database, jobs: Jobs, measured: ClaimedJob
) -> None:
    pass_by(database, 80)
    with database.writing() as connection:
        later = tables.jobs.c.expires_at + 1000
        connection.execute(update(tables.jobs).values(expires_at=later))
    attempts.renew(database, measured.token, 30.0)
    pass_by(database, 80)
    assert [each.name for each in jobs.workers(None)] == ["p"]
    pass_by(database, 80)
    assert jobs.workers(None) == ()


def test_a_worker_that_is_drained_ends_its_job_and_takes_no_other(
    database: Database, jobs: Jobs, measured: ClaimedJob
) -> None:
    waits = submit(jobs)
    assert workers.drain(database, PLAIN.worker).draining
    workers.leave(database, PLAIN)
    workers.seen(database, PLAIN)
    attempts.renew(database, measured.token, 30.0)
    attempts.finish(database, measured.token, JobOutcome(state=State.DONE))
    assert attempts.claim(database, PLAIN, 30.0) is None
    assert jobs.placed(waits.id, "me").waiting == Waiting(kind=WaitsFor.WORKER)
    assert not workers.drain(database, PLAIN.worker, draining=False).draining
    assert claim(database, PLAIN).job.id == waits.id
