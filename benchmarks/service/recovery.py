"""How long it takes until everything goes on after a part of the service was killed."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx2 as httpx
import psutil
from sqlalchemy import select

from autotune.api.settings import Patience, Quotas
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import attempts
from autotune.api.work import processes
from autotune.events import TrialStarted
from benchmarks.service.site import Process, Row, Site, address_of, address_of_new, running, until

ASKED = {"workload": "digits", "space": "cpu", "budget": 3600}


@dataclass(kw_only=True)
class _World:
    """A service on which a job runs."""

    supervisor: Process
    client: httpx.Client
    database: Database
    jobs: Jobs
    job_id: str = ""

    def begin(self) -> None:
        """Have a new job run, so that it does not end by itself meanwhile."""
        if self.job_id:
            self.client.post(f"/v1/tunings/{self.job_id}/cancel")
        where = address_of_new(self.client, ASKED)
        self.job_id = where.rpartition("/")[2]
        until(lambda: self.began() > 0)

    def part(self, name: str) -> psutil.Process:
        """Return a part, by a word of its command."""
        parts = psutil.Process(self.supervisor.pid).children()
        return next(each for each in parts if name in each.cmdline())

    def began(self) -> int:
        """Return the number of the last event that tells of a trial's beginning."""
        last = self.jobs.get(self.job_id, None).events
        told = self.jobs.events(self.job_id, None, after=max(last - 200, 0))
        return max((each.number for each in told if isinstance(each.body, TrialStarted)), default=0)

    def answers(self) -> bool:
        """Return whether the API tells of the job."""
        with suppress(httpx.HTTPError):
            return self.client.get(f"/v1/tunings/{self.job_id}").status_code == 200
        return False


def measure(site: Site, database: Database, times: int) -> Iterator[Row]:
    """Yield a row for each part that is killed by SIGKILL, several times."""
    lease = Patience().lease
    with _world(site, database) as world:
        yield _row("the API, until it tells of a job", "", [_api(world) for _ in range(times)])
        found = [_search(world) for _ in range(times)]
        yield _row("the search's process, until the next trial begins", "", found)
        lasts = f" (a lease lasts {lease:.0f} s)"
        found = [_worker(world) for _ in range(times)]
        yield _row("the worker, until the next trial begins", lasts, found)


@contextmanager
def _world(site: Site, database: Database) -> Iterator[_World]:
    key = site.new_key(database, "recovery")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # An API that comes again must be found where it was.
    supervisor = site.start("serve", "--port", str(port))
    header = {"Authorization": f"Bearer {key}"}
    with (
        running(supervisor),
        httpx.Client(base_url=address_of(supervisor), headers=header, timeout=5) as client,
    ):
        jobs = Jobs(database, site.settings.registry(), Quotas())
        yield _World(supervisor=supervisor, client=client, database=database, jobs=jobs)


def _api(world: _World) -> float:
    world.begin()
    world.part("api").kill()
    return until(lambda: not world.answers()) + until(world.answers)


def _search(world: _World) -> float:
    world.begin()
    query = select(attempts.c.marker).where(attempts.c.job_id == world.job_id)
    with world.database.reading() as connection:
        markers = connection.execute(query).scalars().all()
    search = next(each for marker in markers for each in processes.marked(marker))
    return _until_it_goes_on(world, search.kill)


def _worker(world: _World) -> float:
    world.begin()
    return _until_it_goes_on(world, world.part("worker").kill)


def _until_it_goes_on(world: _World, kill: Callable[[], None]) -> float:
    attempt = world.jobs.get(world.job_id, None).attempt
    kill()
    began = time.monotonic()
    until(lambda: world.jobs.get(world.job_id, None).attempt > attempt, 120)
    known = world.jobs.get(world.job_id, None).events
    until(lambda: world.began() > known, 120)
    return time.monotonic() - began


def _row(what: str, words: str, found: list[float]) -> Row:
    each = ", ".join(f"{seconds:.1f}" for seconds in found)
    return Row(what=f"kill -9 of {what}", measured=f"{each} s{words}")
