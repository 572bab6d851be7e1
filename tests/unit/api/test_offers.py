"""What may be asked for."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from autotune.api.errors import MachineUnknown
from autotune.api.offers import Offers
from autotune.api.settings import load_settings
from autotune.api.workloads import Registry
from autotune.errors import EngineError
from autotune.testing import FAKE_MACHINE, FakeEngine


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[FakeEngine]:
    """Those that were made by the engine that the settings name."""
    made: list[FakeEngine] = []

    def engine() -> FakeEngine:
        made.append(FakeEngine(lambda _: 1.0))
        return made[-1]

    def broken() -> FakeEngine:
        raise EngineError("TensorFlow cannot be imported.")

    module = ModuleType("engines_of_a_test")
    module.engine, module.broken = engine, broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return made


def offers(engine: str, registry: Registry, **settings: object) -> Offers:
    return Offers(load_settings(engine=f"engines_of_a_test:{engine}", **settings), registry)


def test_the_machine_is_looked_at_once(engines: list[FakeEngine], registry: Registry) -> None:
    """A look takes seconds; the engine is closed after it."""
    here = offers("engine", registry)
    assert here.machine() == here.machine_if_known() == FAKE_MACHINE
    assert [each.closed for each in engines] == [True]
    assert here.space().name == "cpu"


def test_a_machine_that_is_declared_is_not_looked_at(
    engines: list[FakeEngine], registry: Registry
) -> None:
    """Jobs may be measured on another host than the API's."""
    other = FAKE_MACHINE.model_copy(update={"cpus": 64})
    assert offers("engine", registry, machine=other).machine().cpus == 64
    assert engines == []


@pytest.mark.parametrize("engine", ["broken", "nosuch"])
def test_a_look_that_fails_is_told(
    engines: list[FakeEngine], registry: Registry, engine: str
) -> None:
    """Jobs are taken in all the same, and their worker finds out."""
    here = offers(engine, registry)
    assert here.machine_if_known() is None
    with pytest.raises(MachineUnknown):
        here.machine()
    assert engines == []
