"""Many who follow jobs."""

import asyncio
from collections.abc import Callable

import pytest

from autotune.api.http.service import HEARTBEAT, Again, Metrics, Streams
from autotune.api.settings import Settings
from autotune.api.store.jobs import Jobs
from autotune.wire.errors import DatabaseUnavailable, KeyRefused, TooManyStreams
from autotune.wire.events import JobEvent
from autotune.wire.jobs import Job, JobRequest

Look = Callable[..., tuple[JobEvent, ...]]


@pytest.fixture
def waiting(jobs: Jobs, asked: JobRequest) -> Job:
    return jobs.submit(asked, "me")


@pytest.fixture
def streams(jobs: Jobs, settings: Settings) -> Streams:
    return Streams(jobs, settings.web, Metrics(jobs))


async def welcome() -> None:
    """Let everybody in again."""


async def collect(
    streams: Streams, job_id: str, key: str = "me", again: Again = welcome
) -> list[bytes]:
    with streams.follow(job_id, 0, key, again) as stream:
        return [each async for each in stream if each != HEARTBEAT]


def test_two_hundred_follow_several_jobs(jobs: Jobs, asked: JobRequest, streams: Streams) -> None:
    """Each sees every event of its job once."""
    ids = [jobs.submit(asked, "me").id for _ in range(4)]

    async def follow() -> list[list[bytes]]:
        following = [
            asyncio.create_task(collect(streams, ids[n % 4], f"key {n % 5}")) for n in range(200)
        ]
        await asyncio.sleep(0)  # All begin.
        assert streams._open.total() == 200
        for each in ids:
            jobs.cancel(each, None)
        return await asyncio.gather(*following)

    found = asyncio.run(follow())
    assert {len(each) for each in found} == {3}
    assert all(b"event: ended" in each[-1] for each in found)
    assert streams._open.total() == 0


def test_a_key_that_is_refused_follows_no_longer(waiting: Job, streams: Streams) -> None:
    """It is asked for again and again; a database that does not answer is no refusal."""
    answers = iter([DatabaseUnavailable("gone"), KeyRefused("revoked")])

    async def again() -> None:
        raise next(answers)

    found = asyncio.run(collect(streams, waiting.id, again=again))
    assert len(found) == 1
    assert next(answers, None) is None


def test_a_database_that_comes_back_goes_on(
    jobs: Jobs, waiting: Job, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(jobs, monkeypatch, DatabaseUnavailable("gone"), DatabaseUnavailable("gone"))
    jobs.cancel(waiting.id, None)
    assert len(asyncio.run(collect(streams, waiting.id))) == 3


def failing(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> None:
    real: Look = jobs.events
    left = iter(errors)

    def events(*args: object, **options: object) -> tuple[JobEvent, ...]:
        trouble = next(left, None)
        if trouble is not None:
            raise trouble
        return real(*args, **options)

    monkeypatch.setattr(jobs, "events", events)


@pytest.mark.parametrize(
    ("bound", "others"), [("streams", ("me", "other")), ("streams_per_key", ("me",))]
)
def test_streams_are_bounded(
    jobs: Jobs, waiting: Job, settings: Settings, bound: str, others: tuple[str, ...]
) -> None:
    """More than the operator allows, of all or of a key, are refused; one that ends makes room."""
    streams = Streams(jobs, settings.web.model_copy(update={bound: 1}), Metrics(jobs))

    async def follow() -> None:
        with streams.follow(waiting.id, 0, "me", welcome):  # It counts before anybody reads it.
            for each in others:
                with pytest.raises(TooManyStreams), streams.follow(waiting.id, 0, each, welcome):
                    pytest.fail("it was let in")
        with streams.follow(waiting.id, 0, "me", welcome):
            pass

    asyncio.run(follow())
    assert streams._open.total() == 0
