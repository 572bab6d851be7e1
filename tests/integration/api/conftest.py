"""Both databases, each test with an empty one; and workers as real processes."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from autotune.api.settings import Patience, Quotas, Settings, load_settings
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import make
from autotune.wire.jobs import JobRequest
from benchmarks.service.site import Process, Site

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
QUICK = Patience(lease=20.0, renewal=0.3, poll=0.1, idle=0.1, interrupt=3.0, overrun=1.0)
_numbers = count()


@dataclass(frozen=True)
class Server:
    binaries: Path
    folder: Path
    user: str | None
    """Who runs it; None for whoever runs the tests."""

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://autotune@/{name}?host={self.folder}"

    def run(self, program: str, *arguments: str) -> None:
        own = [] if self.user is None else ["setpriv", *_identity(self.user)]
        command = [*own, str(self.binaries / program), "-D", str(self.folder / "data")]
        subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def execute(self, statement: str) -> None:
        engine = create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))
        engine.dispose()

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self.run("pg_ctl", "-w", "-o", options, "-l", str(self.folder / "log"), "start")

    def restart(self) -> None:
        self.run("pg_ctl", "-m", "immediate", "stop")
        self.start()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed here: `apt-get install postgresql` brings it")
    folder = Path(tempfile.mkdtemp(prefix="autotune-pg-"))
    server = Server(binaries, folder, "postgres" if os.getuid() == 0 else None)
    if server.user is not None:
        shutil.chown(folder, server.user)
    try:
        server.run("initdb", "-U", "autotune", "--auth=trust", "--no-sync", "-E", "UTF8")
        server.start()
        server.execute("CREATE DATABASE schema")
        database = Database(server.url("schema"))
        make(database)
        database.close()
        yield server
    finally:
        _stop(server)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schema") / "service.db"
    database = Database(f"sqlite:///{path}")
    make(database)
    database.close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        path = tmp_path / "service.db"
        shutil.copy(request.getfixturevalue("sqlite"), path)
        yield f"sqlite:///{path}"
        return
    server: Server = request.getfixturevalue("postgresql")
    name = f"test_{next(_numbers)}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE schema")
    yield server.url(name)
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    return load_settings(
        database=url,
        data=tmp_path / "data",
        root=ROOT,
        engine="service_engines:quick",
        devices="bench",
        patience=QUICK,
        quotas=Quotas(queued=100, device_seconds=1e9, shortest_budget=1),
    )


@pytest.fixture
def jobs(database: Database, settings: Settings) -> Jobs:
    return Jobs(database, settings.registry(), settings.quotas)


@pytest.fixture
def asked() -> JobRequest:
    return JobRequest(workload="digits", space="quick", budget=180, max_trials=3)


Start = Callable[..., Process]


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture
def start_worker(settings: Settings, tmp_path: Path) -> Iterator[Start]:
    started = []

    def start(engine: str = "quick", **variables: str) -> Process:
        changes = {"DEVICES": settings.devices, "PATIENCE": settings.patience.model_dump_json()}
        site = Site(
            folder=tmp_path,
            database=settings.database_url,
            engine=f"service_engines:{engine}",
            changes=changes,
        )
        started.append(site.launch(["-m", "autotune.api.work.worker"], **variables))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def _binaries() -> Path | None:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def _identity(user: str) -> list[str]:
    entry = pwd.getpwnam(user)
    return [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]


def _stop(server: Server) -> None:
    with suppress(subprocess.CalledProcessError):
        server.run("pg_ctl", "-m", "immediate", "stop")
