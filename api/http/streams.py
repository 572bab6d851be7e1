"""Event streams: one loop polls each job that is followed, for all its followers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool

from autotune.api.errors import (
    DatabaseUnavailable,
    KeyRefused,
    NotFound,
    ScopeMissing,
    ServiceError,
    TooManyStreams,
)
from autotune.api.events import Ended
from autotune.api.http.metrics import Metrics
from autotune.api.log import log
from autotune.api.settings import Web
from autotune.api.store.jobs import Jobs
from autotune.api.values import JobEvent
from autotune.text import plural

HEARTBEAT = format_sse_event(comment="still there")
Again = Callable[[], Awaitable[object]]


class EventBroadcaster:
    """Events of one job, for all its followers. To be used within one event loop."""

    def __init__(self, jobs: Jobs, job_id: str, poll: float) -> None:
        self._jobs = jobs
        self._job_id = job_id
        self._poll = poll
        self._news = asyncio.Event()
        self.encoded: list[bytes] = []
        """All events so far, encoded; the first one has the number one."""
        self.over = False
        self.broken = False
        """It is over, though the job may not be."""
        self.followers = 0
        self._task = asyncio.create_task(self._run())

    async def news(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)
            return True
        return False

    def close(self) -> None:
        self._task.cancel()
        self._end()

    async def _run(self) -> None:
        try:
            while not self.over:
                found = await self._read()
                if not found:
                    await asyncio.sleep(self._poll)
                    continue
                self.encoded += map(_encoded, found)
                self.over = isinstance(found[-1].body, Ended)
                self._announce()
        except Exception as exc:  # noqa: BLE001 - followers must not wait for nothing
            self.broken = True
            kind = type(exc).__name__
            log("A job's events cannot be streamed.", logging.ERROR, job=self._job_id, error=kind)
            self._end()

    async def _read(self) -> tuple[JobEvent, ...]:
        after = len(self.encoded)
        try:
            return await run_in_threadpool(self._jobs.events, self._job_id, None, after=after)
        except DatabaseUnavailable:
            # Followers stay: whoever came again now would find the database gone as well.
            log("Events cannot be read.", logging.WARNING, job=self._job_id)
            return ()

    def _end(self) -> None:
        self.over = True
        self._announce()

    def _announce(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class Streams:
    def __init__(self, jobs: Jobs, web: Web, metrics: Metrics) -> None:
        self._jobs = jobs
        self._web = web
        self._broadcasters: dict[str, EventBroadcaster] = {}
        self._open: Counter[str] = Counter()
        metrics.streams.set_function(self._open.total)
        self._closing = False

    @contextmanager
    def follow(
        self, job_id: str, after: int, key_id: str, again: Again
    ) -> Iterator[AsyncGenerator[bytes]]:
        """Give the stream of a job's events; it counts as open until the block ends."""
        self._check(key_id)
        broadcaster = self._join(job_id)
        self._open[key_id] += 1
        try:
            yield self._stream(broadcaster, after, again)
        finally:
            self._open -= Counter([key_id])
            self._leave(job_id, broadcaster)

    def close(self) -> None:
        """End all streams, and let none begin."""
        self._closing = True
        for each in self._broadcasters.values():
            each.close()

    async def _stream(
        self, broadcaster: EventBroadcaster, after: int, again: Again
    ) -> AsyncGenerator[bytes]:
        # Half a heartbeat, so that every silence that is as long is one in which it is asked.
        patience = self._web.heartbeat / 2
        due = time.monotonic() + patience
        while not self._closing:
            for event in broadcaster.encoded[after:]:
                after += 1
                yield event
            if after < len(broadcaster.encoded):  # More came while these were sent.
                continue
            if broadcaster.over:
                return
            news = await broadcaster.news(self._web.heartbeat)
            if time.monotonic() >= due:
                due = time.monotonic() + patience
                if not await _admitted(again):
                    return
            if not news:
                yield HEARTBEAT

    def _check(self, key_id: str) -> None:
        web = self._web
        for which, count, most, then in (
            ("service", self._open.total(), web.streams, "Try again later."),
            ("key", self._open[key_id], web.streams_per_key, "Close one and try again."),
        ):
            if count >= most:
                said = f"This {which} has {plural(count, 'event stream')} open, the maximum."
                raise TooManyStreams(said, then)

    def _join(self, job_id: str) -> EventBroadcaster:
        found = self._broadcasters.get(job_id)
        if found is None or found.broken:
            found = EventBroadcaster(self._jobs, job_id, self._web.poll)
            self._broadcasters[job_id] = found
        found.followers += 1
        return found

    def _leave(self, job_id: str, broadcaster: EventBroadcaster) -> None:
        broadcaster.followers -= 1
        if not broadcaster.followers:
            broadcaster.close()
            if self._broadcasters.get(job_id) is broadcaster:
                del self._broadcasters[job_id]


def _encoded(event: JobEvent) -> bytes:
    return format_sse_event(
        event=event.body.kind, id=str(event.number), data_str=event.model_dump_json()
    )


async def _admitted(again: Again) -> bool:
    try:
        await again()
    except (KeyRefused, NotFound, ScopeMissing):
        return False
    except ServiceError:
        log("The API key of an event stream cannot be checked.", logging.WARNING)
    return True
