"""The exchange of gradients is measured as a training that does nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.search.allreduce import allreduce_request, allreduce_workload, step_time
from autotune.search.request import Subject
from autotune.workload import WorkloadFacts

pytestmark = pytest.mark.real

MIRRORED = Configuration(strategy="mirrored", replicas_per_worker=2, reduction="one_device")
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, shard_policy="data", steps_per_execution=8
)


@pytest.mark.parametrize(
    ("configuration", "size"), [(MIRRORED, 0), (GANG, 4_000_000)], ids=["replicas", "workers"]
)
def test_replicas_exchange(
    engine: LocalEngine, tmp_path: Path, configuration: Configuration, size: int
) -> None:
    """Replicas of one process, and workers of a gang, exchange any number of gradients."""
    facts = WorkloadFacts(dense_gradient_bytes=size)
    subject = Subject(workload=allreduce_workload(size), facts=facts, machine=engine.machine())
    found = step_time(engine, allreduce_request(configuration, subject, tmp_path / "run"))
    assert found is not None
    assert found.seconds > 0
