"""Saved recommendations, and checks of them on the fake engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autotune import Interval, Verdict, Verification, verify
from autotune.config import Configuration
from autotune.installed import VERSION
from autotune.result import SavedConfiguration
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine, table
from autotune.testing.fake import Ending
from autotune.workload import Workload

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=64, reduction="one_device"
)

Save = Callable[..., SavedConfiguration]
Check = Callable[..., Verification]


@pytest.fixture
def save(workload: Workload) -> Save:
    """A recommendation with a verdict: the pair for "distribute", else one device."""

    def make(verdict: Verdict, **changes: Any) -> SavedConfiguration:
        winner = PAIR if verdict is Verdict.DISTRIBUTE else ALONE
        fields: dict[str, Any] = {
            "configuration": winner,
            "global_batch": winner.global_batch,
            "examples_per_second": Interval(low=960, value=1000, high=1040),
            "one_device": ALONE,
            "best_distributed": PAIR,
            "workload": workload,
        }
        return SavedConfiguration(
            autotune=VERSION,
            verdict=verdict,
            facts=FAKE_FACTS,
            machine=FAKE_MACHINE,
            seed=0,
            **fields | changes,
        )

    return make


@pytest.fixture
def check(save: Save) -> Check:
    """Verifies a verdict on a machine with some speeds, by default a quiet one."""

    def run(
        verdict: Verdict,
        *,
        alone: float | Ending = 1000.0,
        pair: float | Ending = 1000.0,
        noise: float = 0.03,
        seed: int = 0,
        seconds: float = 50.0,
        **changes: Any,
    ) -> Verification:
        engine = FakeEngine(table({ALONE: alone, PAIR: pair}), between=noise, seed=seed)
        return verify(save(verdict, **changes), engine=engine, seconds=seconds, seed=seed)

    return run
