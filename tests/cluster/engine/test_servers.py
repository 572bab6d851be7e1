"""Parameter servers and their workers, spread over hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune import Outcome
from autotune.config import Configuration
from autotune.engine.ray import RayEngine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.options import SearchOptions
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.strategies import strategy
from autotune.trial import Stage
from autotune.workload import Workload, factory_from_text
from tests.cluster.engine.nodes import Nodes
from tests.cluster.engine.test_search import WORKLOAD

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

SERVED = Configuration(strategy="parameter_server", workers=2, servers=2, per_replica_batch=32)


def test_servers_are_spread_over_nodes(
    engine: RayEngine, nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training with a worker and a server on each node is measured, and leaves nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(WORKLOAD)
    workload = Workload(
        model=factory_from_text("mine.py:model_fn"), dataset=factory_from_text("mine.py:dataset_fn")
    )
    machine = engine.machine()
    roles = strategy(SERVED.strategy).roles(SERVED, machine)
    assert {(role.kind, role.host) for role in roles} > {("worker", 0), ("worker", 1), ("ps", 1)}
    runner = Runner(
        engine,
        Subject(
            workload=workload, facts=engine.execute(InspectionRequest(workload)), machine=machine
        ),
        TrialList(),
        folder=tmp_path / "trials",
        budget=Budget(SearchOptions(budget=None), engine.now, engine.now()),
        observer=lambda _: None,
    )
    trial = runner.run(SERVED, Stage.EXPLORE)
    assert trial.outcome is Outcome.MEASURED, trial
    told = {each.name for each in (tmp_path / "trials" / "0000").glob("events-*.jsonl")}
    assert len(told) == len(roles)
    engine.close()
    assert nodes.left() == []
