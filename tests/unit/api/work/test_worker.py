"""What a worker does beside its jobs: it inspects its machine, and some things now and then."""

import logging
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from autotune.api.log import logger
from autotune.api.settings import load_settings
from autotune.api.store import workers
from autotune.api.store.database import Database
from autotune.api.values import WorkerInfo
from autotune.api.work import worker
from autotune.api.work.worker import Inspection, at_most_every
from autotune.errors import EngineError
from autotune.machine import Machine
from tests.engines.fake import FAKE_MACHINE, FakeEngine, fake_machine


def engine_of(found: Machine = FAKE_MACHINE, /, **methods: Callable[..., object]) -> FakeEngine:
    engine = FakeEngine(lambda _: 1.0, machine=found)
    for name, method in methods.items():
        setattr(engine, name, method)
    return engine


Inspect = Callable[..., Inspection]


@pytest.fixture
def inspection(database: Database, monkeypatch: pytest.MonkeyPatch) -> Inspect:
    def make(*engines: FakeEngine) -> Inspection:
        left = iter(engines)
        monkeypatch.setattr(worker, "new_engine", lambda _: next(left))
        return Inspection(load_settings(devices="bench"), "bench", database)

    return make


def test_the_machine_is_looked_at_once(inspection: Inspect) -> None:
    """A look takes seconds; it is alone on the machine, and the engine is closed after it."""
    engine = engine_of()
    here = inspection(engine)
    assert here.machine is None
    here.inspect()
    here.inspect()
    assert here.machine == FAKE_MACHINE
    assert (engine.closed, engine.reservations) == (True, ["inspecting the machine"])


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        ({"reserved": lambda what, notify: notify(f"Another search keeps {what} waiting.")}, []),
        ({"machine": Mock(side_effect=EngineError("It is gone."))}, ["It is gone."]),
        ({"machine": Mock(side_effect=RuntimeError("anything"))}, ["anything"]),
    ],
)
def test_a_look_that_cannot_be_taken_is_taken_later(
    inspection: Inspect, caplog: pytest.LogCaptureFixture, methods: dict[str, Any], told: list[str]
) -> None:
    """While a search is timed nothing is looked at; a failure is logged, whatever it is."""
    here = inspection(engine_of(**methods), engine_of())
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
    earlier = WorkerInfo(worker="w", devices="bench", host="h", machine=FAKE_MACHINE)
    workers.seen(database, earlier)
    other = fake_machine(cpus=3)
    here = inspection(engine_of(other))
    assert here.machine == FAKE_MACHINE
    here.inspect()
    assert here.machine == other


def test_it_is_done_at_once_and_then_now_and_then() -> None:
    """What failed is tried again without waiting."""
    now = 5.0
    work = Mock(side_effect=[ZeroDivisionError, None, None])
    do_if_due = at_most_every(10, work, clock=lambda: now)
    with pytest.raises(ZeroDivisionError):
        do_if_due()
    counts = []
    for later in (6.0, 15.9, 16.0, 17.0):
        now = later
        do_if_due()
        counts.append(work.call_count)
    assert counts == [2, 2, 3, 3]
