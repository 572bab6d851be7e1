"""The local engine keeps the contract of all engines, with real processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from autotune.cluster import Role
from autotune.run.engine import Limits, TrialRequest
from autotune.run.exclusive import exclusive
from autotune.run.local import LocalEngine
from autotune.testing.contract import Behaviour, EngineContract

pytestmark = pytest.mark.real

PROGRAMS = {
    Behaviour.MEASURED: "fit",
    Behaviour.GANG: "gang",
    Behaviour.FAILED: "raises",
    Behaviour.NAN: "nan",
    Behaviour.OUT_OF_MEMORY: "eats",
    Behaviour.HUNG: "hangs",
    Behaviour.CRASHED: "dies",
}
LIMITS = {
    Behaviour.HUNG: Limits(start=2.0),
    Behaviour.OUT_OF_MEMORY: Limits(memory=1 << 30),
}
TWO = (Role(index=0), Role(index=1))


class TestLocalEngine(EngineContract):
    """Run the contract's tests on processes of this machine."""

    @classmethod
    def new_engine(cls) -> LocalEngine:
        """Return an engine with a fork server of its own."""
        return LocalEngine()

    @pytest.fixture
    def engine(self, engine: LocalEngine) -> LocalEngine:
        """Return the engine of all tests here."""
        return engine

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Wait for no search outside these tests."""
        here = partial(exclusive, places=[tmp_path])
        monkeypatch.setattr("autotune.run.local.exclusive", here)

    @pytest.fixture(autouse=True)
    def _requests(self, make_request: Callable[..., TrialRequest]) -> None:
        self._make_request = make_request

    def make_request(self, behaviour: Behaviour, folder: Path) -> TrialRequest:
        """Return a request for the program that behaves so."""
        return self._make_request(
            PROGRAMS[behaviour],
            folder,
            limits=LIMITS.get(behaviour, Limits()),
            roles=TWO if behaviour is Behaviour.GANG else TWO[:1],
        )
