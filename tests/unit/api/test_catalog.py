"""What may be asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Event, Thread
from types import ModuleType

import pytest

from autotune.api.catalog import Catalog
from autotune.api.errors import MachineUnknown
from autotune.api.log import logger
from autotune.api.settings import load_settings
from autotune.api.store.database import Database
from autotune.api.store.workers import known_machine, remember_machine
from autotune.api.workloads import Registry
from autotune.errors import EngineError
from autotune.machine import Machine
from autotune.run.engine import Tell
from autotune.testing import FAKE_MACHINE, FakeEngine, fake_machine

Engines = Callable[[Callable[[], FakeEngine]], None]
NAME = "engines_of_a_test"


@pytest.fixture
def made() -> list[FakeEngine]:
    """The engines that were made."""
    return []


@pytest.fixture
def engine_is(monkeypatch: pytest.MonkeyPatch, made: list[FakeEngine]) -> Engines:
    """Sets the engine that the settings name; at first it is one that works."""

    def put(engine: Callable[[], FakeEngine]) -> None:
        module = ModuleType(NAME)
        module.engine = engine  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, NAME, module)

    def working() -> FakeEngine:
        made.append(FakeEngine(lambda _: 1.0))
        return made[-1]

    put(working)
    return put


def catalog(registry: Registry, **settings: object) -> Catalog:
    return Catalog(
        load_settings(**{"engine": f"{NAME}:engine", "devices": "bench", **settings}), registry
    )


@pytest.mark.usefixtures("engine_is")
def test_the_machine_is_looked_at_once(made: list[FakeEngine], registry: Registry) -> None:
    """A look takes seconds; it is alone on the machine, and the engine is closed after it."""
    here = catalog(registry)
    here.look()
    here.look()
    assert here.machine() == here.machine_if_known() == FAKE_MACHINE
    assert [(each.closed, each.reservations) for each in made] == [
        (True, ["inspecting the machine"])
    ]
    assert here.space().name == "cpu"


def test_nobody_waits_for_a_look(engine_is: Engines, registry: Registry) -> None:
    """While a search is timed nothing is looked at, and callers are answered at once."""
    waits, free = Event(), Event()

    class Busy(FakeEngine):
        def reserved(self, what: str, tell: Tell) -> AbstractContextManager[None]:
            waits.set()
            assert free.wait(60)
            return super().reserved(what, tell)

        def machine(self) -> Machine:
            assert free.is_set()
            return super().machine()

    engine_is(lambda: Busy(lambda _: 1.0))
    here = catalog(registry)
    looking = Thread(target=here.look)
    looking.start()
    assert waits.wait(60)
    assert here.machine_if_known() is None
    for ask in (here.machine, here.space):
        with pytest.raises(MachineUnknown, match="not been inspected yet"):
            ask()
    free.set()
    looking.join()
    assert here.machine_if_known() == FAKE_MACHINE


@pytest.mark.usefixtures("engine_is")
def test_a_machine_that_is_declared_is_not_looked_at(
    made: list[FakeEngine], registry: Registry
) -> None:
    """Jobs may be measured on another host than the API's."""
    other = fake_machine(cpus=64)
    here = catalog(registry, machine=other)
    here.look()
    assert here.machine().cpus == 64
    assert made == []


@pytest.mark.parametrize("error", [EngineError("TensorFlow is gone."), RuntimeError("anything")])
def test_a_look_that_fails_is_told_and_done_again(
    engine_is: Engines, registry: Registry, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """Whatever the error is, the log names it, callers are told, and the next look may succeed."""
    told: list[str] = []

    def working() -> FakeEngine:
        with pytest.raises(MachineUnknown) as known:
            here.machine()
        told.append(known.value.cause)
        return FakeEngine(lambda _: 1.0)

    def broken() -> FakeEngine:
        engine_is(working)
        raise error

    engine_is(broken)
    here = catalog(registry)
    with caplog.at_level(logging.ERROR, logger.name):
        here.look(again=0)
    assert told == ["The engine could not inspect the machine; it retries every minute."]
    assert here.machine_if_known() == FAKE_MACHINE
    assert [str(error) in each.getMessage() for each in caplog.records] == [True]


def test_no_look_follows_the_end(engine_is: Engines, registry: Registry) -> None:
    """A service that ends waits for no further look."""

    class Ending(FakeEngine):
        def reserved(self, what: str, tell: Tell) -> AbstractContextManager[None]:
            here.close()
            return super().reserved(what, tell)

        def machine(self) -> Machine:
            raise AssertionError

    engine_is(lambda: Ending(lambda _: 1.0))
    here = catalog(registry)
    here.look()
    assert here.machine_if_known() is None


def test_the_machine_of_an_earlier_look_counts_until_the_next(
    engine_is: Engines, registry: Registry, database: Database
) -> None:
    """An API that starts while a search is timed tells it at once, and takes the new look later."""
    remember_machine(database, "bench", FAKE_MACHINE)
    waits, free = Event(), Event()
    other = fake_machine(cpus=3)

    class Slow(FakeEngine):
        def machine(self) -> Machine:
            waits.set()
            free.wait(60)
            return other

    engine_is(lambda: Slow(lambda _: 1.0))
    here = Catalog(load_settings(engine=f"{NAME}:engine", devices="bench"), registry, database)
    looking = Thread(target=here.look)
    looking.start()
    assert waits.wait(60)
    assert here.machine() == FAKE_MACHINE
    free.set()
    looking.join()
    assert here.machine() == known_machine(database, "bench") == other
