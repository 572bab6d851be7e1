"""How a worker finds out what its machine is."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType

import pytest

from autotune.api.log import logger
from autotune.api.settings import load_settings
from autotune.api.store.database import Database
from autotune.api.store.workers import known_machine, remember_machine
from autotune.api.work.housekeeping import Inspection
from autotune.engine.lock import Notify
from autotune.errors import EngineError
from autotune.machine import Machine
from autotune.testing import FAKE_MACHINE, FakeEngine, fake_machine

Engines = Callable[[Callable[[], FakeEngine]], None]
Inspect = Callable[..., Inspection]
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


@pytest.fixture
def inspection(database: Database) -> Inspect:
    """Makes an inspection of this machine."""

    def make(**settings: object) -> Inspection:
        given = {"engine": f"{NAME}:engine", "devices": "bench", **settings}
        return Inspection(load_settings(**given), "bench", database)

    return make


@pytest.mark.usefixtures("engine_is")
def test_the_machine_is_looked_at_once(
    made: list[FakeEngine], inspection: Inspect, database: Database
) -> None:
    """A look takes seconds; it is alone on the machine, and the engine is closed after it."""
    here = inspection()
    assert here.machine is None
    here.inspect()
    here.inspect()
    assert here.machine == known_machine(database, "bench") == FAKE_MACHINE
    assert [(each.closed, each.reservations) for each in made] == [
        (True, ["inspecting the machine"])
    ]


def test_a_look_waits_for_nobody(engine_is: Engines, inspection: Inspect) -> None:
    """While a search is timed nothing is looked at, and the worker goes on."""

    class Busy(FakeEngine):
        def reserved(
            self, what: str, notify: Notify, seconds: float | None = None
        ) -> AbstractContextManager[None]:
            del what, seconds
            notify("Waiting for another search.")
            raise AssertionError

        def machine(self) -> Machine:
            raise AssertionError

    engine_is(lambda: Busy(lambda _: 1.0))
    here = inspection()
    here.inspect()
    assert here.machine is None
    engine_is(lambda: FakeEngine(lambda _: 1.0))
    here.inspect()
    assert here.machine == FAKE_MACHINE


@pytest.mark.parametrize("error", [EngineError("TensorFlow is gone."), RuntimeError("anything")])
def test_a_look_that_fails_is_told_and_done_again(
    engine_is: Engines, inspection: Inspect, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """Whatever the error is, the log names it, and the next look may succeed."""

    def broken() -> FakeEngine:
        raise error

    engine_is(broken)
    here = inspection()
    with caplog.at_level(logging.ERROR, logger.name):
        here.inspect()
    assert here.machine is None
    assert [str(error) in each.getMessage() for each in caplog.records] == [True]
    engine_is(lambda: FakeEngine(lambda _: 1.0))
    here.inspect()
    assert here.machine == FAKE_MACHINE


def test_the_machine_of_an_earlier_look_counts_until_the_next(
    engine_is: Engines, inspection: Inspect, database: Database
) -> None:
    """A worker that starts while a search is timed knows it at once, and looks anew later."""
    remember_machine(database, "bench", FAKE_MACHINE)
    other = fake_machine(cpus=3)

    class Changed(FakeEngine):
        def machine(self) -> Machine:
            return other

    engine_is(lambda: Changed(lambda _: 1.0))
    here = inspection()
    assert here.machine == FAKE_MACHINE
    here.inspect()
    assert here.machine == known_machine(database, "bench") == other
