"""Certifies the programs of this folder with real processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.checks.certificate import Certificate, Check
from autotune.checks.certify import Candidate, certify
from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.workload import Workload, WorkloadFacts, factory_from_text

PROGRAMS = Path(__file__).parent / "programs"
MIRRORED = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=16, reduction="one_device"
)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=16, shard_policy="data"
)

Certifier = Callable[..., Certificate]


@pytest.fixture
def certified(engine: LocalEngine, tmp_path: Path) -> Certifier:

    def run(
        model: str,
        dataset: str,
        configuration: Configuration,
        arguments: dict[str, Any] | None = None,
        **facts: Any,
    ) -> Certificate:
        workload = Workload(
            model=factory_from_text(f"{PROGRAMS}/{model}", {}),
            dataset=factory_from_text(f"{PROGRAMS}/{dataset}", arguments or {}),
        )
        known = WorkloadFacts(**{"examples": 256, "example_bytes": 100, "repeatable": True} | facts)
        candidate = Candidate(
            configuration=configuration,
            workload=workload,
            facts=known,
            machine=engine.machine(),
            rate=1_000.0,
        )
        return certify(engine, candidate, tmp_path)

    return run


def check(certificate: Certificate, name: str) -> Check:
    return next(each for each in certificate.checks if each.name == name)
