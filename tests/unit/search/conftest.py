"""A search over a small space on the fake engine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from optuna.storages import BaseStorage, InMemoryStorage

from autotune.config import Configuration
from autotune.engine.base import RunResult, Stop, Watch
from autotune.engine.tasks import TrialRequest
from autotune.options import SearchOptions
from autotune.reason import Message, Outcome
from autotune.result import Result
from autotune.search.tune import TuningRequest, tune
from autotune.space import Space
from autotune.trial import Stage, Trial
from autotune.workload import Workload
from tests.engines.fake import FakeEngine, Speed
from tests.trials import ended_trial

SPACE = Space(
    name="small",
    strategies=("one_device", "mirrored", "multi_worker_mirrored"),
    axes={
        "per_replica_batch": (32, 128),
        "steps_per_execution": (1, 8),
        "replicas_per_worker": (2,),
        "workers": (2,),
        "shard_policy": ("data",),
    },
)

Tuner = Callable[..., Result]


def speed(*, distributed: float = 1.0) -> Speed:
    def rate(configuration: Configuration) -> float:
        base = 10_000 * configuration.global_batch**0.3
        base *= configuration.steps_per_execution**0.1
        return base * (distributed if configuration.distributed else 1.0)

    return rate


FULL = Stop(outcome=Outcome.OUT_OF_MEMORY, reason=Message(text="the ceiling was passed"))


def full_above_32(configuration: Configuration) -> float | Stop:
    return FULL if configuration.per_replica_batch > 32 else 100.0


def ended(
    number: int,
    configuration: Configuration,
    outcome: Outcome = Outcome.MEASURED,
    rate: float | None = 100.0,
    **more: Any,
) -> Trial:
    kept = {"stage": Stage.EXPLORE, "wall_seconds": 5.0, "ended_at": 10.0 * number, **more}
    which = {"configuration": configuration, "outcome": outcome, "examples_per_second": rate}
    return ended_trial(number, **which, **kept)


class Failing(FakeEngine):
    """Raises an error at a certain trial: as Ctrl-C does, or a disk that takes no more."""

    def __init__(self, at: int, error: BaseException) -> None:
        super().__init__(speed())
        self._at = at
        self._error = error

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        if len(self.requests) >= self._at:
            raise self._error
        return super().run(request, watch)


@pytest.fixture
def kept_in() -> BaseStorage | None:
    """Where the studies of a test are kept: in memory, which is quicker than a database."""
    return InMemoryStorage()


@pytest.fixture
def tuner(tmp_path: Path, workload: Workload, kept_in: BaseStorage | None) -> Tuner:
    def run(
        truth: Speed,
        *,
        engine: FakeEngine | None = None,
        options: dict[str, Any] | None = None,
        noise: float = 0.03,
        seed: int = 0,
        observer: Callable[[Any], None] = lambda _: None,
        **fields: Any,
    ) -> Result:
        kept = {"out": tmp_path / "out", "storage": kept_in}
        given = {"workload": workload, "space": SPACE, **kept, **fields}
        # How to search is one question, and which batches to compare by default is another.
        asked = {"objective": "max_throughput", "seed": seed, **(options or {})}
        request = TuningRequest(options=SearchOptions(**asked), **given)
        running = engine or FakeEngine(truth, between=noise, seed=seed)
        return tune(request, running, observer)

    return run
