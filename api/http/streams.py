"""Event streams: one look at the database serves all who follow a job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress

from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool

from autotune.api.errors import DatabaseUnavailable, TooManyStreams
from autotune.api.happenings import Ended
from autotune.api.http.answers import EventAnswer
from autotune.api.http.metrics import Metrics
from autotune.api.jobs import Jobs
from autotune.api.log import say
from autotune.api.settings import Web
from autotune.api.values import JobEvent

HEARTBEAT = format_sse_event(comment="still there")


class Feed:
    """What happened to one job, as it comes. To be used within one event loop.

    Args:
        jobs: Where it comes from.
        job_id: The job.
        look: Seconds between looks.
    """

    def __init__(self, jobs: Jobs, job_id: str, look: float) -> None:
        self._jobs = jobs
        self._job_id = job_id
        self._look = look
        self._news = asyncio.Event()
        self.told: list[bytes] = []
        """All events so far, encoded; the first one has the number one."""
        self.over = False
        """Nothing will follow."""
        self.followers = 0
        self._task = asyncio.create_task(self._run())

    async def news(self, seconds: float) -> bool:
        """Wait for more; return whether there is some."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)
            return True
        return False

    def close(self) -> None:
        """End; followers get what there is and no more."""
        self._task.cancel()
        self.over = True
        self._announce()

    async def _run(self) -> None:
        while not self.over:
            found = await self._read()
            self.told += map(_encoded, found)
            self.over = bool(found) and isinstance(found[-1].body, Ended)
            if found:
                self._announce()
            else:
                await asyncio.sleep(self._look)

    async def _read(self) -> tuple[JobEvent, ...]:
        after = len(self.told)
        try:
            return await run_in_threadpool(self._jobs.events, self._job_id, None, after=after)
        except DatabaseUnavailable:
            # Followers stay: whoever came again now would find the database gone as well.
            say("Events cannot be read.", logging.WARNING, job=self._job_id)
            return ()

    def _announce(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class Streams:
    """All event streams of this process.

    Args:
        jobs: Where the events come from.
        web: How often to look, how often to give a sign of life, and how many may follow.
        metrics: Counts the streams.
    """

    def __init__(self, jobs: Jobs, web: Web, metrics: Metrics) -> None:
        self._jobs = jobs
        self._web = web
        self._metrics = metrics
        self._feeds: dict[str, Feed] = {}
        self._open = 0
        self._closing = False

    def follow(self, job_id: str, after: int) -> AsyncGenerator[bytes]:
        """Return the stream of a job's events after one of them.

        Raises:
            TooManyStreams: As many are open as may.
        """
        if self._open >= self._web.streams:
            raise TooManyStreams(
                f"{self._open} event streams are open already.", "Try again later."
            )
        return self._stream(job_id, after)

    def close(self) -> None:
        """End all streams, and let none begin."""
        self._closing = True
        for each in self._feeds.values():
            each.close()

    async def _stream(self, job_id: str, after: int) -> AsyncGenerator[bytes]:
        feed = self._join(job_id)
        try:
            while not self._closing:
                for event in feed.told[after:]:
                    after += 1
                    yield event
                if after < len(feed.told):  # More came while these were sent.
                    continue
                if feed.over:
                    return
                if not await feed.news(self._web.heartbeat):
                    yield HEARTBEAT
        finally:
            self._leave(job_id, feed)

    def _join(self, job_id: str) -> Feed:
        feed = self._feeds.get(job_id)
        if feed is None:
            feed = self._feeds[job_id] = Feed(self._jobs, job_id, self._web.look)
        feed.followers += 1
        self._open += 1
        self._metrics.streams.inc()
        return feed

    def _leave(self, job_id: str, feed: Feed) -> None:
        feed.followers -= 1
        self._open -= 1
        self._metrics.streams.dec()
        if not feed.followers:
            feed.close()
            self._feeds.pop(job_id, None)


def _encoded(event: JobEvent) -> bytes:
    answer = EventAnswer.of(event)
    return format_sse_event(
        event=answer.kind, id=str(event.number), data_str=answer.model_dump_json()
    )
