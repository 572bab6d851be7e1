"""Event streams: each follower's own look for news, now and then."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool

from autotune.api.http.metrics import Metrics
from autotune.api.log import log
from autotune.api.settings import Web
from autotune.api.store.jobs import Jobs
from autotune.text import plural
from autotune.wire.errors import (
    DatabaseUnavailable,
    KeyRefused,
    NotFound,
    ScopeMissing,
    ServiceError,
    TooManyStreams,
)
from autotune.wire.events import Ended, JobEvent

HEARTBEAT = format_sse_event(comment="still there")
Again = Callable[[], Awaitable[object]]


class Streams:
    def __init__(self, jobs: Jobs, web: Web, metrics: Metrics) -> None:
        self._jobs = jobs
        self._web = web
        self._open: Counter[str] = Counter()
        metrics.streams.set_function(self._open.total)
        self._closing = asyncio.Event()

    @contextmanager
    def follow(
        self, job_id: str, after: int, key_id: str, again: Again
    ) -> Iterator[AsyncGenerator[bytes]]:
        """Give the stream of a job's events; it counts as open until the block ends."""
        self._check(key_id)
        self._open[key_id] += 1
        try:
            yield self._stream(job_id, after, again)
        finally:
            self._open -= Counter([key_id])

    def close(self) -> None:
        """End all streams, and let none begin."""
        self._closing.set()

    async def _stream(self, job_id: str, after: int, again: Again) -> AsyncGenerator[bytes]:
        # Half a heartbeat, so that every silence that is as long is one in which it is asked.
        patience = self._web.heartbeat / 2
        due = silent = time.monotonic()
        while not self._closing.is_set():
            found = await self._read(job_id, after)
            for event in found:
                after = event.number
                yield _encoded(event)
            if found and isinstance(found[-1].body, Ended):
                return
            now = time.monotonic()
            if now >= due:
                due = now + patience
                if not await _admitted(again):
                    return
            if found:
                silent = now
                continue
            if now - silent >= self._web.heartbeat:
                silent = now
                yield HEARTBEAT
            await self._pause()

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), self._web.poll)

    async def _read(self, job_id: str, after: int) -> tuple[JobEvent, ...]:
        try:
            return await run_in_threadpool(self._jobs.events, job_id, None, after=after)
        except DatabaseUnavailable:
            # Followers stay: whoever came again now would find the database gone as well.
            log("Events cannot be read.", logging.WARNING, job=job_id)
        return ()

    def _check(self, key_id: str) -> None:
        web = self._web
        for which, count, most, then in (
            ("service", self._open.total(), web.streams, "Try again later."),
            ("key", self._open[key_id], web.streams_per_key, "Close one and try again."),
        ):
            if count >= most:
                said = f"This {which} has {plural(count, 'event stream')} open, the maximum."
                raise TooManyStreams(said, then)


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
