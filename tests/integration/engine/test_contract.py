"""The local engine keeps the contract of all engines, with real processes."""

from pathlib import Path

import pytest

from autotune.engine import lock
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import TrialRequest
from autotune.strategies import Role
from tests.engines.contract import Behaviour, ProcessContract
from tests.trials import request_of

pytestmark = pytest.mark.real


class TestLocalEngine(ProcessContract):
    @classmethod
    def new_engine(cls) -> LocalEngine:
        return LocalEngine()

    @pytest.fixture(autouse=True)
    def _alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Wait for no search outside these tests."""
        monkeypatch.setattr(lock, "PLACES", (tmp_path,))

    def make_request(self, behaviour: Behaviour, folder: Path) -> TrialRequest:
        return request_of(behaviour, folder, (Role(), Role(index=1)))
