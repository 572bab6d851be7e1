"""What is read in a shorter way than the whole, the same on both databases."""

from __future__ import annotations

import json

import pytest

from autotune.api.errors import NoRecommendation, NotFound
from autotune.api.records import read
from autotune.api.requests import JobRequest
from autotune.api.states import State
from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import Job, JobOutcome as Ending, WorkerInfo
from autotune.trial import Trial
from tests.trials import ended_trial


@pytest.fixture
def job(jobs: Jobs, asked: JobRequest) -> Job:
    """A job that waits."""
    return jobs.submit(asked, "me")


def test_a_recommendation_is_told_without_its_trials(
    jobs: Jobs, job: Job, database: Database
) -> None:
    """They have a table; everything else is left as it was."""
    with pytest.raises(NoRecommendation):
        jobs.short_recommendation(job.id, "me")
    claimed = attempts.claim(database, WorkerInfo(worker="w", devices="d", host="h"), 30.0)
    assert claimed is not None
    kept = '{"margin": 0.05, "over_default": null, "summary": "é"}'
    attempts.finish(database, claimed.token, Ending(state=State.DONE, recommendation=kept))
    shown, _ = jobs.short_recommendation(job.id, "me")
    assert json.loads(shown) == {"margin": 0.05, "over_default": None, "summary": "é"}
    with pytest.raises(NotFound):
        jobs.short_recommendation(job.id, "somebody else")


def test_records_are_what_the_trials_are_made_of(jobs: Jobs, job: Job, database: Database) -> None:
    """They come in the same order, from where they are asked for, and to their owner alone."""
    claimed = attempts.claim(database, WorkerInfo(worker="w", devices="d", host="h"), 30.0)
    assert claimed is not None
    for number in range(3):
        report = AttemptReport(number=number + 1, trial=ended_trial(number))
        attempts.record(database, claimed.token, report)
    found = jobs.trial_records(job.id, "me", after=0, limit=1)
    assert [read(Trial, each) for each in found] == [ended_trial(1)]
    assert jobs.trial_records(job.id, None, after=2) == ()
    with pytest.raises(NotFound):
        jobs.trial_records(job.id, "somebody else")


def test_a_page_is_that_of_its_states_and_owner(jobs: Jobs, asked: JobRequest, job: Job) -> None:
    """However often, and with whatever other bounds, it is asked for."""
    newer, others = jobs.submit(asked, "me"), jobs.submit(asked, "somebody else")
    jobs.cancel(newer.id, "me")
    for _ in range(2):
        assert [each.id for each in jobs.page("me").tunings] == [newer.id, job.id]
        found = jobs.page("me", states=[State.QUEUED, State.RUNNING], before=newer.id)
        assert [each.id for each in found.tunings] == [job.id]
        waiting = jobs.page(None, states=[State.QUEUED])
        assert [each.id for each in waiting.tunings] == [others.id, job.id]
        assert jobs.page(None, limit=1).next == others.id
