"""Calls a server as fast as it answers, over connections that stay open.

It is a few lines on asyncio's transports, because a client library takes more time for a call than
the server does, and both would be measured. How busy it was itself is part of the result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from urllib.parse import urlsplit

CONNECTIONS = 8


@dataclass(frozen=True, kw_only=True)
class Calls:
    """What is asked for, in turn."""

    paths: Sequence[str]
    key: str
    connections: int = CONNECTIONS
    body: str = ""
    """Of a POST; without any it is a GET."""

    def requests(self, host: str) -> list[bytes]:
        head = f"HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {self.key}\r\n"
        if self.body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n"
        method = "POST" if self.body else "GET"
        return [f"{method} {path} {head}\r\n{self.body}".encode() for path in self.paths]


@dataclass(frozen=True, kw_only=True)
class Burst:
    """What came of calling for some time."""

    seconds: float
    latencies: tuple[float, ...]
    wrong: int
    """Answers that are no success."""
    busy: float
    """Share of the time in which the caller itself used a processor."""
    last: bytes
    """The last answer."""

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


def burst(address: str, calls: Calls, seconds: float) -> Burst:
    """Ask for some seconds, and once at least on each connection."""
    host = urlsplit(address).netloc
    requests = cycle(calls.requests(host))
    began, used = time.perf_counter(), time.process_time()
    callers = asyncio.run(_call(host, requests, began + seconds, calls.connections))
    took = time.perf_counter() - began
    return Burst(
        seconds=took,
        latencies=tuple(each for caller in callers for each in caller.latencies),
        wrong=sum(caller.wrong for caller in callers),
        busy=(time.process_time() - used) / took,
        last=callers[-1].answer,
    )


async def _call(
    netloc: str, requests: Iterator[bytes], until: float, connections: int
) -> list[_Caller]:
    host, _, port = netloc.rpartition(":")
    loop = asyncio.get_running_loop()
    callers = [_Caller(requests, until, loop.create_future()) for _ in range(connections)]
    for each in callers:
        await loop.create_connection(partial(_itself, each), host, int(port))
    await asyncio.gather(*(each.done for each in callers))
    return callers


def _itself(caller: _Caller) -> _Caller:
    return caller


class _Caller(asyncio.Protocol):
    """One connection; the next request goes out when the answer is complete."""

    def __init__(self, requests: Iterator[bytes], until: float, done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._until = until
        self.done = done
        self.latencies: list[float] = []
        self.wrong = 0
        self.answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a connection
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._missing -= len(data)
        if not self._headed:
            self._read_head()
        if self._headed and self._missing <= 0:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell that the server hung up."""
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server hung up"))

    def _send(self) -> None:
        self._received, self._missing, self._headed = b"", 0, False
        self._sent = time.perf_counter()
        self._transport.write(next(self._requests))

    def _read_head(self) -> None:
        head, found, body = self._received.partition(b"\r\n\r\n")
        if found:
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            self._missing = int(length) - len(body)
            self._headed = True

    def _finish(self) -> None:
        now = time.perf_counter()
        self.latencies.append(now - self._sent)
        self.answer = self._received
        self.wrong += not self.answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 202"))
        if now < self._until:
            self._send()
        else:
            self.done.set_result(None)
            self._transport.close()
