"""Connections: how many there may be, and how long one may take to say what it wants."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from autotune.api.log import say

HEAD_SECONDS = 10.0
"""Longest wait for the head of a request."""
BODY_SECONDS = 30.0
"""Longest wait for its body."""
READ_SECONDS = 30.0
"""Longest wait for a caller to take in some more of an answer."""
BACKLOG = 128
"""Connections that are taken in at once, before any of them is looked at."""
OTHER_FILES = 200
"""What a process opens beside connections: the database's, files, and the backlog."""
LEAST = 16


class Connection(H11Protocol):
    """A connection that is ended if it says nothing, not all of it, or does not hear, for too long.

    Where there are as many as there may be, one that has said nothing makes room for a new one.
    """

    _timer: asyncio.TimerHandle | None = None
    _allowed: float | None = None
    _deaf: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # narrower, as uvicorn's
        """Make room for it, and wait for its first request."""
        if self.limit_concurrency and len(self.connections) >= self.limit_concurrency - 1:
            self._make_room(transport)
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what it says, and wait for the rest if there is more to come."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the caller to take in what there is."""
        super().pause_writing()
        self._deaf = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no more for that."""
        super().resume_writing()
        self._hears()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait(None)
        self._hears()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._wait(HEAD_SECONDS)
        else:
            self._wait(BODY_SECONDS if cycle.more_body else None)

    def _wait(self, seconds: float | None) -> None:
        """End it after some time, which does not begin anew with every byte."""
        if seconds == self._allowed:
            return
        self._allowed = seconds
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._end) if seconds else None

    def _end(self) -> None:
        """Close it; what a caller has not taken in does not keep it for good."""
        self.transport.close()
        self._hears()
        self._deaf = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def _hears(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()

    def _make_room(self, transport: asyncio.Transport) -> None:
        others = (each for each in self.connections if isinstance(each, Connection))
        silent = next((each for each in others if each._allowed == HEAD_SECONDS), None)  # noqa: SLF001 - of the same class
        if silent:
            self.connections.discard(silent)
        (silent.transport if silent else transport).abort()


def most_connections(wanted: int) -> int:
    """Return how many connections there may be, having raised the system's limit if it can be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard == resource.RLIM_INFINITY:
        return wanted
    return max(LEAST, min(wanted, hard - OTHER_FILES))


def note_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of the event loop; that there are no more files, in a line and no traceback."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        say("A connection cannot be taken in.", logging.ERROR, error=error.strerror)
    else:
        loop.default_exception_handler(context)
