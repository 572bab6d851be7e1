"""Many who follow one job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from autotune.api.asked import Asked
from autotune.api.errors import DatabaseUnavailable, TooManyStreams
from autotune.api.http.metrics import Metrics
from autotune.api.http.streams import HEARTBEAT, Streams
from autotune.api.jobs import Jobs
from autotune.api.settings import Settings
from autotune.api.values import Job, JobEvent

Look = Callable[..., tuple[JobEvent, ...]]


@pytest.fixture
def waiting(jobs: Jobs, asked: Asked) -> Job:
    """A job that waits."""
    return jobs.submit(asked, "me")


@pytest.fixture
def streams(jobs: Jobs, settings: Settings) -> Streams:
    """The streams of a process."""
    return Streams(jobs, settings.web, Metrics())


async def collect(stream: AsyncGenerator[bytes]) -> list[bytes]:
    """Return all events of a stream, without its signs of life."""
    return [each async for each in stream if each != HEARTBEAT]


def test_two_hundred_follow_with_the_looks_of_one(
    jobs: Jobs, waiting: Job, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sees every event once, and the database is asked as often as for one."""
    looks = 0
    real: Look = jobs.events

    def counted(*args: object, **options: object) -> tuple[JobEvent, ...]:
        nonlocal looks
        looks += 1
        return real(*args, **options)

    monkeypatch.setattr(jobs, "events", counted)

    async def follow() -> list[list[bytes]]:
        following = [collect(streams.follow(waiting.id, 0)) for _ in range(200)]
        end = asyncio.get_running_loop().call_later(0.1, jobs.cancel, waiting.id, None)
        found = await asyncio.gather(*following)
        end.cancel()
        return found

    found = asyncio.run(follow())
    assert {len(each) for each in found} == {3}
    assert all(b"event: ended" in each[-1] for each in found)
    assert looks < 50


def test_silence_has_signs_of_life(waiting: Job, streams: Streams) -> None:
    """A comment comes when nothing happens, so that nobody on the way closes the stream."""

    async def follow() -> list[bytes]:
        stream = streams.follow(waiting.id, 0)
        found = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return found

    first, *rest = asyncio.run(follow())
    assert b"event: queued" in first
    assert rest == [HEARTBEAT, HEARTBEAT]
    assert streams._feeds == {}


def test_streams_end_with_the_server(waiting: Job, streams: Streams) -> None:
    """Otherwise they would keep it from ending."""

    async def follow() -> list[bytes]:
        asyncio.get_running_loop().call_later(0.05, streams.close)
        return await collect(streams.follow(waiting.id, 0))

    assert len(asyncio.run(follow())) == 1


def test_a_database_that_comes_back_goes_on(
    jobs: Jobs, waiting: Job, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followers stay through it and miss nothing."""
    real: Look = jobs.events
    answers = iter([DatabaseUnavailable("gone")] * 2)

    def troubled(*args: object, **options: object) -> tuple[JobEvent, ...]:
        trouble = next(answers, None)
        if trouble is not None:
            raise trouble
        return real(*args, **options)

    monkeypatch.setattr(jobs, "events", troubled)
    jobs.cancel(waiting.id, None)
    assert len(asyncio.run(collect(streams.follow(waiting.id, 0)))) == 3


def test_streams_are_bounded(jobs: Jobs, waiting: Job, settings: Settings) -> None:
    """More than the operator allows are refused."""
    web = settings.web.model_copy(update={"streams": 1})
    streams = Streams(jobs, web, Metrics())

    async def follow() -> None:
        first = streams.follow(waiting.id, 0)
        await anext(first)
        with pytest.raises(TooManyStreams):
            streams.follow(waiting.id, 0)
        await first.aclose()

    asyncio.run(follow())
