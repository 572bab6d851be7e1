"""What a worker does beside its jobs: it inspects its machine, and some things now and then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from autotune.api.log import logger
from autotune.api.settings import load_settings
from autotune.api.store.database import Database
from autotune.api.store.workers import known_machine, remember_machine
from autotune.api.work import housekeeping
from autotune.api.work.housekeeping import Chore, Inspection
from autotune.engine.lock import Notify
from autotune.errors import EngineError
from autotune.machine import Machine
from autotune.testing import FAKE_MACHINE, FakeEngine, fake_machine


class Engine(FakeEngine):
    def __init__(self, found: Machine | Exception = FAKE_MACHINE) -> None:
        super().__init__(lambda _: 1.0)
        self._found = found

    def machine(self) -> Machine:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class Busy(Engine):
    def reserved(
        self, what: str, notify: Notify, seconds: float | None = None
    ) -> AbstractContextManager[None]:
        del what, seconds
        notify("Waiting for another search.")
        raise AssertionError


Inspect = Callable[..., Inspection]


@pytest.fixture
def inspection(database: Database, monkeypatch: pytest.MonkeyPatch) -> Inspect:
    """Makes an inspection that is given these engines, one after the other."""

    def make(*engines: FakeEngine) -> Inspection:
        left = iter(engines)
        monkeypatch.setattr(housekeeping, "new_engine", lambda _: next(left))
        return Inspection(load_settings(devices="bench"), "bench", database)

    return make


def test_the_machine_is_looked_at_once(inspection: Inspect, database: Database) -> None:
    """A look takes seconds; it is alone on the machine, and the engine is closed after it."""
    engine = Engine()
    here = inspection(engine)
    assert here.machine is None
    here.inspect()
    here.inspect()
    assert here.machine == known_machine(database, "bench") == FAKE_MACHINE
    assert (engine.closed, engine.reservations) == (True, ["inspecting the machine"])


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        (Busy(), []),
        (Engine(EngineError("TensorFlow is gone.")), ["TensorFlow is gone."]),
        (Engine(RuntimeError("anything")), ["anything"]),
    ],
)
def test_a_look_that_cannot_be_taken_is_taken_later(
    inspection: Inspect, caplog: pytest.LogCaptureFixture, engine: Engine, told: list[str]
) -> None:
    """While a search is timed nothing is looked at; a failure is logged, whatever it is."""
    here = inspection(engine, Engine())
    with caplog.at_level(logging.ERROR, logger.name):
        here.inspect()
    assert here.machine is None
    assert [each.__dict__["fields"]["text"] for each in caplog.records] == told
    here.inspect()
    assert here.machine == FAKE_MACHINE


def test_the_machine_of_an_earlier_look_counts_until_the_next(
    inspection: Inspect, database: Database
) -> None:
    """A worker that starts while a search is timed knows it at once, and looks anew later."""
    remember_machine(database, "bench", FAKE_MACHINE)
    other = fake_machine(cpus=3)
    here = inspection(Engine(other))
    assert here.machine == FAKE_MACHINE
    here.inspect()
    assert here.machine == known_machine(database, "bench") == other


def test_it_is_done_at_once_and_then_now_and_then() -> None:
    times = iter([5.0, 6.0, 14.9, 15.0, 16.0, 40.0])
    done: list[None] = []
    counts: list[int] = []
    chore = Chore(lambda: done.append(None), 10, clock=lambda: next(times))
    for _ in range(6):
        chore.do_if_due()
        counts.append(len(done))
    assert counts == [1, 1, 1, 2, 2, 3]


def test_what_fails_is_tried_again() -> None:
    answers = iter([ZeroDivisionError, None])

    def work() -> None:
        error = next(answers)
        if error:
            raise error

    chore = Chore(work, 10, clock=lambda: 0.0)
    with pytest.raises(ZeroDivisionError):
        chore.do_if_due()
    chore.do_if_due()
    chore.do_if_due()
    assert next(answers, "all used") == "all used"
