"""A search on a cluster that loses a node."""

from pathlib import Path

import pytest
import yaml

from autotune import SearchOptions, Tuner
from autotune.engine.ray import RayEngine
from autotune.events import Event, Notice, TrialStarted
from autotune.reason import Outcome, TooFewHosts
from tests.cluster.engine.nodes import Nodes
from tests.cluster.engine.test_search import SPACE, WORKLOAD

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]

JUDGED = {Outcome.MEASURED, Outcome.PRUNED}
"""A gang that is slower than one device may be ended for that, which is a judgement as well."""


class Loss:
    """Takes a node away from the first gang, permanently, when that is asked for."""

    def __init__(self, nodes: Nodes, engine: RayEngine) -> None:
        self._nodes = nodes
        self._engine = engine
        self.done = False
        self.notices: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Notice):
            self.notices.append(event.text)
        if self.done or not isinstance(event, TrialStarted) or not event.configuration.distributed:
            return
        self.done = True
        used = {host.node.key for host in self._engine.left[:2]}
        workers = self._nodes.cluster.worker_nodes
        self._nodes.cluster.remove_node(next(n for n in workers if n.node_id in used))


def test_a_search_goes_on_with_the_nodes_that_are_left(apart: Nodes, tmp_path: Path) -> None:
    """A gang of two runs on the others until it is judged, one of three is not run any more."""
    apart.join()
    (tmp_path / "mine.py").write_text(WORKLOAD)
    axes = {**SPACE["axes"], "workers": [2, 3]}
    (tmp_path / "space.yaml").write_text(yaml.safe_dump({**SPACE, "axes": axes}))
    with RayEngine(apart.url) as engine:
        loss = Loss(apart, engine)
        tuner = Tuner(engine=engine, observer=loss)
        mine = tmp_path / "mine.py"
        factories = f"{mine}:model_fn", f"{mine}:dataset_fn"
        limits = SearchOptions(max_trials=12, train_for="500h")
        result = tuner.tune(*factories, space=str(tmp_path / "space.yaml"), options=limits)
    assert any("goes on without" in text and "2 of 3 machines" in text for text in loss.notices)
    gangs = [t for t in result.trials if t.configuration.workers > 1]
    judged = [t.configuration.workers for t in gangs if t.outcome in JUDGED]
    assert 2 in judged, [t.reason for t in gangs]
    lacking = [t.reason for t in gangs if t.configuration.workers == 3]
    assert all(isinstance(reason, TooFewHosts) for reason in lacking)
    # The files of the agent that was killed with its node go with the next one.
    assert apart.left(files=False) == []
