"""The exchange of gradients is measured as a training that does nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.search.allreduce import allreduce_request, seconds_of_step
from autotune.search.request import Subject
from autotune.search.stopping import MeasureWatch
from autotune.workload import WorkloadFacts
from tools.docs.samples import WORKLOAD

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
    subject = Subject(workload=WORKLOAD, facts=WorkloadFacts(), machine=engine.machine())
    request = allreduce_request(configuration, subject, tmp_path / "run", size)
    seconds = seconds_of_step(engine.execute(request, MeasureWatch()))
    assert seconds > 0
