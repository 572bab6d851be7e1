"""The engine on a Ray cluster keeps the contract of all engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.engine.ray import RayEngine
from autotune.engine.tasks.train import TrialRequest
from autotune.roles import Role
from autotune.testing.contract import Behaviour, ProcessContract
from tests.cluster.engine.nodes import Nodes
from tests.trials import request_of

pytestmark = pytest.mark.real


class TestRayEngine(ProcessContract):
    """Run the contract's tests on a cluster of two nodes."""

    url = "ray://"

    @classmethod
    def new_engine(cls) -> RayEngine:
        return RayEngine(cls.url)

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, nodes: Nodes) -> Iterator[RayEngine]:
        cls.url = nodes.url
        with cls.new_engine() as engine:
            yield engine

    def make_request(self, behaviour: Behaviour, folder: Path) -> TrialRequest:
        return request_of(behaviour, folder, (Role(), Role(index=1, host=1)))
