"""The engine on a Ray cluster keeps the contract of all engines, and its own for its processes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.engine.ray import RayEngine
from autotune.engine.tasks import TrialRequest
from autotune.strategies import Role
from tests.cluster.engine.nodes import Nodes
from tests.engines.contract import Behaviour, ProcessContract
from tests.trials import request_for, request_of

pytestmark = pytest.mark.real

TELL = """
import json, os
found = {"variables": dict(os.environ), "nice": os.nice(0), "directory": os.getcwd()}
print("found", json.dumps(found), flush=True)
raise SystemExit
"""


class TestRayEngine(ProcessContract):
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

    def test_a_trial_sees_what_ray_was_started_in(self, engine: RayEngine, tmp_path: Path) -> None:
        """Variables and, for root, the priority; the folder is that of the caller."""
        engine.execute(request_for(TELL, tmp_path / "run"), lambda _: None)
        output = (tmp_path / "run" / "output-0.txt").read_text().splitlines()
        found = json.loads(next(line for line in output if line.startswith("found"))[6:])
        assert not [name for name in found["variables"] if name.startswith("RAY_")]
        for name in ("OMP_NUM_THREADS", "PYTHONBREAKPOINT", "SPT_NOENV"):
            assert found["variables"].get(name) == os.environ.get(name)
        assert found["directory"] == str(Path.cwd())
        if os.geteuid() == 0:
            assert found["nice"] == os.nice(0)
