"""A network for each search: nothing of a gang is reached from outside, or what is told instead."""

import errno
import os
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from autotune.api import isolation
from autotune.api.isolation import Isolation
from autotune.api.settings import Settings
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.work import attempt
from autotune.api.work.worker import Worker
from autotune.engine.resolve import LOCAL
from autotune.events import Notice
from autotune.reason import Outcome
from autotune.wire.errors import SettingsError
from autotune.wire.jobs import FINAL, Job, JobRequest, State
from benchmarks.service.site import Process, until
from tests.running import python

ROOT = Path(__file__).parents[3]
ALLOWED = isolation.refusal() is None
OWN = Path("/proc/self/ns/net")
needs_networks = pytest.mark.skipif(not ALLOWED, reason="no network namespace can be had here")

AS_ORDINARY_USER = """
import ctypes, os, socket
from autotune.api import isolation
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a process that changed its user may not look at itself
outside = socket.create_server(("127.0.0.1", 0))
found = isolation.enter("auto")
with socket.create_server(("0.0.0.0", 0)) as inside:
    socket.socket().connect(("127.0.0.1", inside.getsockname()[1]))
print(found or True, os.getuid(), socket.socket().connect_ex(outside.getsockname()))
"""


Start = Callable[..., Process]


def tried(start: Start, settings: Settings, job: Job, isolation: Isolation) -> list[bool]:
    """Let a worker run a job, and return which of the machine's addresses lead into it.

    Its one trial listens on every address until somebody has tried.
    """
    start("listening", AUTOTUNE_SERVICE_ISOLATION=isolation)
    place = settings.data / "jobs" / job.id
    until(lambda: any(place.rglob("port.txt")))
    shown = next(place.rglob("port.txt"))
    port = int(shown.read_text())
    addresses = [each.address for own in psutil.net_if_addrs().values() for each in own]
    found = [reached(each, port) for each in addresses if each.count(".") == 3]
    (place / shown.relative_to(place).parts[0] / "tried").touch()
    return found


def reached(address: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((address, port), 2):
        return True
    return False


def notes(jobs: Jobs, job: Job) -> list[str]:
    return [each.body.text for each in jobs.events(job.id, None) if isinstance(each.body, Notice)]


@pytest.fixture
def url(sqlite: Path, tmp_path: Path) -> str:
    shutil.copy(sqlite, tmp_path / "service.db")
    return f"sqlite:///{tmp_path / 'service.db'}"


@pytest.fixture
def job(jobs: Jobs) -> Job:
    return jobs.submit(JobRequest(workload="digits", space="quick", max_trials=1), "me")


@needs_networks
def test_nothing_of_a_gang_is_reached_from_outside(
    jobs: Jobs, job: Job, settings: Settings, start_worker: Start
) -> None:
    """A listener on every address is on none of the machine's, and the job tells so."""
    found = tried(start_worker, settings, job, Isolation.AUTO)
    assert found
    assert not any(found)
    until(lambda: jobs.get(job.id, None).state in FINAL)
    assert "in its own network namespace" in notes(jobs, job)[0]


def test_an_operator_may_leave_searches_in_the_machine_s_network(
    jobs: Jobs, job: Job, settings: Settings, start_worker: Start
) -> None:
    found = tried(start_worker, settings, job, Isolation.OFF)
    assert found
    assert all(found)
    until(lambda: jobs.get(job.id, None).state in FINAL)
    assert "uses the machine's network" in notes(jobs, job)[0]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_has_one_where_user_namespaces_are_allowed() -> None:
    told = python(ROOT, "-c", AS_ORDINARY_USER, PYTHONPATH=str(ROOT))
    own, user, outside = told.rsplit(maxsplit=2)
    if own != "True":
        pytest.skip(f"an ordinary user may not have one here: {own}")
    assert int(user) == 65534
    assert int(outside) == errno.ECONNREFUSED


def test_a_search_that_must_have_one_and_has_none_loses_no_job(
    jobs: Jobs, job: Job, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the system had changed its mind since the worker was started.
    refusing = "from autotune.api import isolation as n; n.refusal = lambda: 'not today'; "
    paths, _, rest = attempt._PROGRAM.partition("from ")
    monkeypatch.setattr(attempt, "_PROGRAM", f"{paths}{refusing}from {rest}")
    changes = {"engine": "service_engines:quick", "isolation": Isolation.REQUIRED}
    worker = Worker(database, settings.model_copy(update=changes))
    # Afterwards it pauses, which test_trouble.py looks at.
    monkeypatch.setattr(worker._stop, "wait", lambda _: True)
    assert worker.run_one()
    assert jobs.get(job.id, None).state is State.QUEUED


@needs_networks
@pytest.mark.real
@pytest.mark.chaos
@pytest.mark.long
def test_a_gang_trains_within_its_own_network(
    jobs: Jobs, database: Database, settings: Settings
) -> None:
    gang = {"strategies": ("multi_worker_mirrored",), "workers": (2,)}
    asked = JobRequest(workload="tiny_dense", space="quick", budget=60.0, **gang)
    job = jobs.submit(asked, "me")
    changes = {"engine": LOCAL, "isolation": Isolation.REQUIRED}
    assert Worker(database, settings.model_copy(update=changes)).run_one()
    measured = [
        each.configuration.workers
        for each in jobs.detail(job.id, None).trials
        if each.outcome in (Outcome.MEASURED, Outcome.PRUNED)
    ]
    assert 2 in measured


def refuses(code: int) -> Callable[[], None]:
    def separate() -> None:
        raise OSError(code, os.strerror(code))

    return separate


def test_what_the_system_says_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_separate", refuses(errno.ENOSPC))
    assert isolation.refusal() == os.strerror(errno.ENOSPC)
    before = OWN.readlink()
    assert isolation.enter(Isolation.AUTO) == os.strerror(errno.ENOSPC)
    assert OWN.readlink() == before
    monkeypatch.setattr(isolation, "_separate", lambda: 1 / 0)
    assert isolation.refusal() is not None


def test_whoever_must_have_one_learns_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_separate", refuses(errno.EPERM))
    with pytest.raises(SettingsError, match=r"not permitted.*isolation"):
        isolation.check()
