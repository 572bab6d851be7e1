"""Event streams: how late an event comes, and whether all come once and in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from urllib.parse import urlsplit

from autotune.api.settings import Quotas
from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import AttemptReport, JobOutcome, LeaseToken, WorkerInfo
from autotune.events import Notice
from autotune.wire.jobs import JobRequest, State
from benchmarks.service.filled import OWN
from benchmarks.service.site import Site, address_of, running
from benchmarks.service.table import Row

STREAMS, JOBS, KEYS = 200, 20, 8
EVENTS = 40
"""Of each job."""
PAUSE = 0.02
"""Seconds between two events, of whichever jobs."""
LEASE = 3600.0
Commits = dict[tuple[str, int], float]


@dataclass(kw_only=True)
class _Follower:
    job: str
    key: str
    numbers: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)

    async def follow(self, netloc: str) -> None:
        """Read the stream to its end."""
        host, _, port = netloc.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
        head = f"GET /v1/tunings/{self.job}/events HTTP/1.1\r\nHost: {netloc}\r\n"
        writer.write(f"{head}Authorization: Bearer {self.key}\r\n\r\n".encode())
        if b" 200 " not in await reader.readline():
            raise RuntimeError("a stream was refused")
        while (line := await reader.readline()) and line != b"0\r\n":
            if line.startswith(b"id: "):
                self.moments.append(time.time())
                self.numbers.append(int(line[4:]))
        writer.close()


def measure(site: Site, database: Database) -> Iterator[Row]:
    """Yield the rows: 200 streams of 20 jobs, to which events are added."""
    tokens = _claimed(site, database)
    keys = [site.new_key(database, f"follower {number}", OWN) for number in range(KEYS)]
    followers = [
        _Follower(job=tokens[number % JOBS].job_id, key=keys[number % KEYS])
        for number in range(STREAMS)
    ]
    api = site.start("serve", "api", "--port", "0")
    with running(api):
        netloc = urlsplit(address_of(api)).netloc
        commits = asyncio.run(_run(netloc, followers, database, tokens))
    yield from _rows(followers, commits)


def _claimed(site: Site, database: Database) -> list[LeaseToken]:
    service = Jobs(database, site.settings.registry(), Quotas(queued=JOBS, device_seconds=1e9))
    for _ in range(JOBS):
        service.submit(JobRequest(workload="digits", space="quick"), OWN)
    posts = [WorkerInfo(worker="bench", devices=f"streams-{n}", host="none") for n in range(JOBS)]
    found = [attempts.claim(database, each, LEASE) for each in posts]
    return [each.token for each in found if each]


async def _run(
    netloc: str, followers: Sequence[_Follower], database: Database, tokens: Sequence[LeaseToken]
) -> Commits:
    tasks = [asyncio.create_task(each.follow(netloc)) for each in followers]
    while not all(each.numbers for each in followers):
        if any(each.done() for each in tasks):
            break
        await asyncio.sleep(0.1)
    commits = await asyncio.to_thread(_write, database, tokens)
    await asyncio.wait_for(asyncio.gather(*tasks), 30)
    return commits


def _write(database: Database, tokens: Sequence[LeaseToken]) -> Commits:
    """Add the events; return when each was committed."""
    commits: Commits = {}
    # Two are there already: it was queued, and an claimed.
    for number in range(3, EVENTS + 3):
        for each in tokens:
            note = AttemptReport(number=number - 2, events=[Notice(text="Something happened.")])
            attempts.record(database, each, note)
            commits[each.job_id, number] = time.time()
            time.sleep(PAUSE)
    for each in tokens:
        attempts.finish(database, each, JobOutcome(state=State.FAILED, reason="That was all."))
    return commits


def _rows(followers: Sequence[_Follower], commits: Commits) -> Iterator[Row]:
    late = sorted(
        max(moment - commits[each.job, number], 0.0)
        for each in followers
        for number, moment in zip(each.numbers, each.moments, strict=True)
        if (each.job, number) in commits
    )
    cuts = quantiles(late, n=100)
    yield Row(
        what=f"{STREAMS} event streams at once: from an event's commit to its receipt",
        measured=f"median {1000 * median(late):.0f} ms, p99 {1000 * cuts[98]:.0f} ms",
    )
    whole = sum(each.numbers == list(range(1, EVENTS + 4)) for each in followers)
    yield Row(
        what=f"streams that got each of {EVENTS + 3} events once and in order",
        measured=f"{whole} of {STREAMS}, {len(late)} receipts",
        goal="all",
        reached=whole == STREAMS,
    )
