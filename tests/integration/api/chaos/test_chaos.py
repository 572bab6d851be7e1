"""Whatever is killed and whenever: every job ends once, nothing is lost, twice, or left running.

`make test-chaos` kills fifty times, `make chaos` a thousand times. AUTOTUNE_TEST_KILLS says how
often that is, AUTOTUNE_TEST_SEED which choices, AUTOTUNE_TEST_SECONDS for how long at most.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from autotune.api.settings import Patience
from autotune.api.store.database import Database
from autotune.engine.resolve import LOCAL
from benchmarks.service.site import Site

from .run import Run
from .world import Disk, World, own_disk

pytestmark = pytest.mark.chaos
SHORT = 50
KILLS = int(os.environ.get("AUTOTUNE_TEST_KILLS", "1000"))
SEED = int(os.environ.get("AUTOTUNE_TEST_SEED", "1"))
SECONDS = float(os.environ.get("AUTOTUNE_TEST_SECONDS", "3600"))
PATIENCE = Patience(lease=3.0, renewal=0.5, poll=0.1, idle=0.25, interrupt=1.0, overrun=5.0)
ASKED = {"workload": "digits", "space": "quick", "budget": 120}
REAL = {"workload": "tiny_dense", "space": "quick", "budget": 60}


@dataclass(frozen=True)
class Ground:
    disk: Disk | None
    folder: Path
    url: str
    restart: Callable[[], None] | None


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    """A small disk with the service's files, and a database of a kind, empty or with its schema."""
    with own_disk(tmp_path / "disk") as disk:
        folder = tmp_path / "disk"
        url, restart = f"sqlite:///{folder / 'service.db'}", None
        if request.param == "sqlite":
            shutil.copy(request.getfixturevalue("sqlite"), folder / "service.db")
        elif request.param == "empty postgresql":
            server = request.getfixturevalue("postgresql")
            name = f"chaos_{os.getpid()}_{abs(hash(request.node.name))}"
            server.execute(f"CREATE DATABASE {name}")
            url, restart = server.url(name), server.restart
        yield Ground(disk, folder, url, restart)


def run(
    ground: Ground,
    engine: str,
    *,
    devices: int,
    kills: int,
    pause: float,
    waiting: int,
) -> str:
    changes = {
        "PATIENCE": PATIENCE.model_dump_json(),
        "DEATHS": "1000000",
        "DATA": str(ground.folder / "data"),
    }
    site = Site(folder=ground.folder.parent, database=ground.url, engine=engine, changes=changes)
    database = Database(ground.url)
    world = World(
        site=site,
        database=database,
        random=Random(SEED),
        disk=ground.disk,
        restart=ground.restart,
        devices=devices,
    )
    asked, lease = REAL if engine == LOCAL else ASKED, PATIENCE.lease
    try:
        chaos = Run(world, lease=lease, asked=asked, seed=SEED, pause=pause, waiting=waiting)
        return chaos.go(kills, SECONDS)
    finally:
        world.close()
        database.close()


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def show(summary: str) -> None:
        with capsys.disabled():
            print(f"\nchaos: {summary}")  # noqa: T201

    return show


@pytest.mark.timeout(900)
@pytest.mark.parametrize("ground", ["sqlite"], indirect=True)
def test_fifty_kills_lose_or_double_nothing(ground: Ground) -> None:
    """API, workers, searches and their processes die and are stopped, disk and clock fail."""
    run(ground, "service_engines:brief", devices=2, kills=SHORT, pause=0.05, waiting=2)


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("ground", ["empty sqlite", "empty postgresql"], indirect=True)
def test_no_kill_loses_or_doubles_anything(ground: Ground, tell: Callable[[str], None]) -> None:
    tell(run(ground, "service_engines:brief", devices=2, kills=KILLS, pause=0.05, waiting=4))


@pytest.mark.long
@pytest.mark.real
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ground", ["sqlite"], indirect=True)
def test_no_kill_loses_anything_of_real_searches(
    ground: Ground, tell: Callable[[str], None]
) -> None:
    tell(run(ground, LOCAL, devices=1, kills=min(KILLS, 6), pause=5.0, waiting=4))
