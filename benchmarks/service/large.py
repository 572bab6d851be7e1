"""A service with many jobs: reading, submitting and claiming, alone and with many connections."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from statistics import quantiles
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil

from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.values import WorkerInfo
from benchmarks.service.filled import OWN, WORKLOADS, fill, fill_queue
from benchmarks.service.site import Calls, Process, Row, Site, address_of, burst, running

TRIALS = 10
"""Of each job that is done."""
IDLE, STREAMS, KEYS = 500, 200, 8
SOME = 2000
"""Jobs that are asked for."""
CLAIMS = 200
FIRST = 20
"""Claims that are not counted: a worker reads each job that waits once."""
MOST_MS = 50.0
BODY = '{"workload": "digits", "space": "cpu", "budget": 60}'
LEASE = 3600.0
CROWDED_SECONDS = 4.0
"""Less than the service waits for a connection to say something."""


class Asked(NamedTuple):
    """Who is asked: the API."""

    address: str
    process: psutil.Process

    @classmethod
    def of(cls, process: Process) -> Asked:
        return cls(address_of(process), psutil.Process(process.pid))


class Took(NamedTuple):
    """Milliseconds of some calls."""

    wall: list[float]
    cpu: float
    """Of each, on average."""

    def __str__(self) -> str:
        return f"p50 {self.part(50):.1f} ms, p99 {self.part(99):.1f} ms, CPU {self.cpu:.1f} ms"

    def part(self, percent: int) -> float:
        """Return what so many of a hundred calls stay below."""
        return quantiles(self.wall, n=100)[percent - 1]


def measure(
    site: Site, database: Database, count: int, queued: int, rounds: int, seconds: float
) -> Iterator[Row]:
    """Yield the rows: so many jobs are done, and so many wait."""
    keys = [site.new_key(database, f"large {number}", OWN) for number in range(KEYS)]
    done = fill(database, site.settings, count, TRIALS)[:SOME]
    fill_queue(database, done[0], queued)
    api = site.start("serve", "api", "--port", "0")
    with running(api):
        asked = Asked.of(api)
        scale = f"{count:,} jobs done, {queued:,} queued, {count * TRIALS:,} trials"
        # Before others are submitted, which would wait as well.
        yield _row(f"claim of {scale}", _claims(database))
        for name, calls in _calls(keys[0], done).items():
            turns = [_took(asked, calls, seconds) for _ in range(rounds)]
            yield _row(f"{name} of {scale}", _together(turns))
        yield _crowded(asked, keys, done, rounds * seconds)


def _calls(key: str, done: Sequence[str]) -> dict[str, Calls]:
    one = [f"/v1/tunings/{each}" for each in done]
    return {
        "list": Calls(paths=["/v1/tunings"], key=key),
        "read": Calls(paths=one, key=key),
        "submit": Calls(paths=["/v1/tunings"], key=key, body=BODY),
    }


def _took(asked: Asked, calls: Calls, seconds: float) -> Took:
    before = _used(asked.process)
    wall = [1000 * each for each in burst(asked.address, calls, seconds)[0]]
    return Took(wall, 1000 * (_used(asked.process) - before) / len(wall))


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _together(turns: Sequence[Took]) -> Took:
    calls = sum(len(each.wall) for each in turns)
    cpu = sum(each.cpu * len(each.wall) for each in turns) / calls
    return Took([wall for each in turns for wall in each.wall], cpu)


def _row(what: str, mine: Took) -> Row:
    return Row(
        what=what,
        measured=f"{mine} (n = {len(mine.wall)})",
        goal=f"p99 below {MOST_MS:.0f} ms",
        reached=mine.part(99) < MOST_MS,
    )


def _claims(database: Database) -> Took:
    """Claim, as workers of many devices do; a part of the jobs is for others."""
    workloads = {WORKLOADS[0]: ""}
    posts = [
        WorkerInfo(worker="bench", devices=f"large-{n}", host="none", workloads=workloads)
        for n in range(FIRST + CLAIMS)
    ]
    for post in posts[:FIRST]:
        _claim(database, post)
    used = time.process_time()
    wall = [1000 * _seconds(partial(_claim, database, post)) for post in posts[FIRST:]]
    return Took(wall, 1000 * (time.process_time() - used) / CLAIMS)


def _claim(database: Database, post: WorkerInfo) -> None:
    if attempts.claim(database, post, LEASE) is None:
        raise RuntimeError("there was no job to claim")


def _seconds(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _crowded(api: Asked, keys: Sequence[str], done: Sequence[str], seconds: float) -> Row:
    """Read while many connections say nothing and many follow jobs that wait."""
    host, _, port = urlsplit(api.address).netloc.rpartition(":")
    where = (host, int(port))
    waits = json.loads(burst(api.address, _calls(keys[0], done)["submit"], 0.0)[1])["id"]
    with ExitStack() as stack:
        followers = [keys[n % KEYS] for n in range(STREAMS)]
        opened = [stack.enter_context(_stream(where, waits, each)) for each in followers]
        silent = [stack.enter_context(socket.create_connection(where)) for _ in range(IDLE)]
        found = _took(api, _calls(keys[0], done)["read"], min(seconds, CROWDED_SECONDS))
        idle, streams = sum(map(_is_open, silent)), sum(map(_is_open, opened))
    return Row(
        what=f"read, while {IDLE} connections say nothing and {STREAMS} streams are open",
        measured=f"{found} (n = {len(found.wall)}); still open after it: {idle} and {streams}",
        goal=f"p99 below {MOST_MS:.0f} ms, all streams open",
        reached=found.part(99) < MOST_MS and streams == STREAMS,
    )


def _stream(where: tuple[str, int], job: str, key: str) -> socket.socket:
    stream = socket.create_connection(where)
    head = f"GET /v1/tunings/{job}/events HTTP/1.1\r\nHost: {where[0]}:{where[1]}\r\n"
    stream.sendall(f"{head}Authorization: Bearer {key}\r\n\r\n".encode())
    if b" 200 " not in stream.recv(4096).partition(b"\r\n")[0]:
        raise RuntimeError("a stream was refused")
    return stream


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)  # noqa: FBT003 - of the library
    with suppress(BlockingIOError):
        while data := connection.recv(65536):
            del data
        return False
    return True
