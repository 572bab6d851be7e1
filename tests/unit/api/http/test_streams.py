"""Many who follow jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from autotune.api.errors import DatabaseUnavailable, KeyRefused, TooManyStreams
from autotune.api.http.metrics import Metrics
from autotune.api.http.streams import HEARTBEAT, Again, Streams
from autotune.api.log import logger
from autotune.api.requests import JobRequest
from autotune.api.settings import Settings
from autotune.api.store.jobs import Jobs
from autotune.api.values import Job, JobEvent

Look = Callable[..., tuple[JobEvent, ...]]


@pytest.fixture
def waiting(jobs: Jobs, asked: JobRequest) -> Job:
    return jobs.submit(asked, "me")


@pytest.fixture
def streams(jobs: Jobs, settings: Settings) -> Streams:
    return Streams(jobs, settings.web, Metrics())


async def welcome() -> None:
    """Let everybody in again."""


async def collect(
    streams: Streams, job_id: str, key: str = "me", again: Again = welcome
) -> list[bytes]:
    with streams.follow(job_id, 0, key, again) as stream:
        return [each async for each in stream if each != HEARTBEAT]


def test_two_hundred_follow_several_jobs(jobs: Jobs, asked: JobRequest, streams: Streams) -> None:
    """Each sees every event of its job once, and one loop for each job looks for all of them."""
    ids = [jobs.submit(asked, "me").id for _ in range(4)]

    async def follow() -> list[list[bytes]]:
        following = [
            asyncio.create_task(collect(streams, ids[n % 4], f"key {n % 5}")) for n in range(200)
        ]
        await asyncio.sleep(0)  # All begin.
        assert streams._open.total() == 200
        assert [each.followers for each in streams._broadcasters.values()] == [50] * 4
        for each in ids:
            jobs.cancel(each, None)
        return await asyncio.gather(*following)

    found = asyncio.run(follow())
    assert {len(each) for each in found} == {3}
    assert all(b"event: ended" in each[-1] for each in found)
    assert streams._broadcasters == {}
    assert streams._open.total() == 0


def test_all_who_follow_a_job_cost_one_look(
    jobs: Jobs, waiting: Job, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = watched(jobs, monkeypatch)
    jobs.cancel(waiting.id, None)

    async def follow() -> list[list[bytes]]:
        return await asyncio.gather(*(collect(streams, waiting.id) for _ in range(50)))

    assert {len(each) for each in asyncio.run(follow())} == {3}
    assert looks == [waiting.id]


def test_streams_end_with_the_server(waiting: Job, streams: Streams) -> None:
    async def follow() -> list[bytes]:
        with streams.follow(waiting.id, 0, "me", welcome) as stream:
            first = await anext(stream)
            streams.close()
            return [first, *[each async for each in stream]]

    assert len(asyncio.run(follow())) == 1


def test_a_key_that_is_refused_follows_no_longer(waiting: Job, streams: Streams) -> None:
    """It is asked for again and again; a database that does not answer is no refusal."""
    answers = iter([DatabaseUnavailable("gone"), KeyRefused("revoked")])

    async def again() -> None:
        if streams._broadcasters[waiting.id].encoded:
            raise next(answers)

    found = asyncio.run(collect(streams, waiting.id, again=again))
    assert len(found) == 1
    assert next(answers, None) is None


def test_a_database_that_comes_back_goes_on(
    jobs: Jobs, waiting: Job, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched(jobs, monkeypatch, DatabaseUnavailable("gone"), DatabaseUnavailable("gone"))
    jobs.cancel(waiting.id, None)
    assert len(asyncio.run(collect(streams, waiting.id))) == 3


def test_a_job_that_cannot_be_read_keeps_nobody_waiting(
    jobs: Jobs,
    waiting: Job,
    streams: Streams,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its followers are let go, the log says so, and whoever comes again is served."""
    watched(jobs, monkeypatch, RuntimeError("no such thing"))
    jobs.cancel(waiting.id, None)
    with caplog.at_level(logging.ERROR, logger.name):
        assert asyncio.run(collect(streams, waiting.id)) == []
    assert "error=RuntimeError" in caplog.text
    assert len(asyncio.run(collect(streams, waiting.id))) == 3


def watched(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[str]:
    """Have the first looks for events fail so; return the jobs of all looks."""
    real: Look = jobs.events
    left, looks = iter(errors), []

    def events(job_id: str, *args: object, **options: object) -> tuple[JobEvent, ...]:
        looks.append(job_id)
        trouble = next(left, None)
        if trouble is not None:
            raise trouble
        return real(job_id, *args, **options)

    monkeypatch.setattr(jobs, "events", events)
    return looks


@pytest.mark.parametrize(
    ("bound", "others"), [("streams", ("me", "other")), ("streams_per_key", ("me",))]
)
def test_streams_are_bounded(
    jobs: Jobs, waiting: Job, settings: Settings, bound: str, others: tuple[str, ...]
) -> None:
    """More than the operator allows, of all or of a key, are refused; one that ends makes room."""
    streams = Streams(jobs, settings.web.model_copy(update={bound: 1}), Metrics())

    async def follow() -> None:
        with streams.follow(waiting.id, 0, "me", welcome):  # It counts before anybody reads it.
            for each in others:
                with pytest.raises(TooManyStreams), streams.follow(waiting.id, 0, each, welcome):
                    pytest.fail("it was let in")
        with streams.follow(waiting.id, 0, "me", welcome):
            pass

    asyncio.run(follow())
    assert streams._open.total() == 0
