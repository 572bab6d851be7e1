"""What may be asked for."""

from __future__ import annotations

import pytest

from autotune.api.catalog import Catalog
from autotune.api.errors import MachineUnknown
from autotune.api.needs import Needs
from autotune.api.settings import load_settings
from autotune.api.store import workers
from autotune.api.store.database import Database
from autotune.api.values import WorkerInfo
from autotune.api.workloads import Registry
from autotune.machine import Machine
from autotune.testing import FAKE_MACHINE, fake_machine


@pytest.fixture
def catalog(registry: Registry, database: Database) -> Catalog:
    """A catalog that knows of no machine but those of workers."""
    return Catalog(load_settings(devices="bench"), registry, database)


def come(database: Database, devices: str, machine: Machine | None, *labels: str) -> None:
    """Have a worker be there."""
    post = WorkerInfo(worker=devices, devices=devices, host="h", machine=machine, labels=labels)
    workers.seen(database, post)


def test_a_machine_that_nobody_has_seen_is_unknown(catalog: Catalog, database: Database) -> None:
    """Callers are answered at once, and told what to do."""
    come(database, "bench", None)
    for ask in (catalog.machine, catalog.space):
        with pytest.raises(MachineUnknown, match="No worker has inspected"):
            ask()
    assert catalog.machines(Needs()) == ()


def test_the_machine_is_that_of_these_devices(catalog: Catalog, database: Database) -> None:
    """As a worker has seen it, also while none is there; until then that of another worker."""
    come(database, "other", fake_machine(cpus=64))
    assert catalog.machine().cpus == 64
    workers.remember_machine(database, "bench", FAKE_MACHINE)
    assert catalog.machine() == FAKE_MACHINE
    assert catalog.space().name == "cpu"


def test_a_machine_that_is_declared_counts(registry: Registry, database: Database) -> None:
    """Whatever workers say."""
    settings = load_settings(devices="bench", machine=fake_machine(cpus=64))
    come(database, "bench", FAKE_MACHINE)
    catalog = Catalog(settings, registry, database)
    assert catalog.machine().cpus == 64
    assert [each.cpus for each in catalog.machines(Needs())] == [64]


def test_jobs_may_run_on_the_machines_that_meet_their_needs(
    catalog: Catalog, database: Database
) -> None:
    """Those alone decide whether a space can run."""
    pair = fake_machine(gpus=("H100", "H100"))
    come(database, "a", FAKE_MACHINE)
    come(database, "b", pair, "fast")
    assert catalog.machines(Needs()) == (FAKE_MACHINE, pair)
    assert catalog.machines(Needs(kind="h100", labels=("fast",))) == (pair,)
    assert catalog.machines(Needs(devices=3)) == ()
