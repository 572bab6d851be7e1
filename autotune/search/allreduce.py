"""How long replicas take to exchange the gradients of a step, measured before they are trained.

A step cannot be shorter than its exchange, so a family of configurations with the same replicas
and the same reduction processes at most one global batch in that time.
"""

from __future__ import annotations

from pathlib import Path

from autotune.axis import Trend
from autotune.config import Configuration, axes
from autotune.engine.base import Limits, RunResult
from autotune.engine.tasks.train import TrialRequest, trial_request
from autotune.options import SCRIPT_SEED
from autotune.reason import Outcome
from autotune.search.request import Subject
from autotune.stats.windows import read, steady_from
from autotune.value import Scalar
from autotune.workload import Workload, WorkloadFacts, factory_from_text

ALLREDUCE_MODULE = "autotune.exchange"

Family = tuple[Scalar, ...]


def family(configuration: Configuration) -> Family:
    """Return what the time of an exchange depends on, beside the number of gradients."""
    return tuple(configuration[name] for name in _settings())


def _settings() -> list[str]:
    return [name for name, axis in axes().items() if axis.allreduce_time is not Trend.NONE]


def allreduce_request(
    configuration: Configuration,
    subject: Subject,
    folder: Path,
    gradient_bytes: int,
    limits: Limits | None = None,
) -> TrialRequest:
    """Return the run that measures the exchange of a configuration's family."""
    bare = Configuration(
        steps_per_execution=configuration.steps_per_execution,
        shard_policy="data" if configuration.workers > 1 else "auto",
        per_replica_batch=1,
        cache="memory",
    ).taking({name: configuration[name] for name in _settings()})
    numbers = max(gradient_bytes // 4, 1)  # in float32
    workload = Workload(
        model=factory_from_text(f"{ALLREDUCE_MODULE}:model_fn", {"numbers": numbers}),
        dataset=factory_from_text(f"{ALLREDUCE_MODULE}:dataset_fn", {}),
    )
    # The element decides between Keras's fit and a loop, so it has to be the real one.
    facts = WorkloadFacts(
        model_takes=("numbers",), examples=4096, repeatable=True, element=subject.facts.element
    )
    return trial_request(
        bare,
        workload,
        facts,
        subject.machine,
        folder,
        seed=SCRIPT_SEED,
        limits=limits or Limits(),
    )


def seconds_of_step(result: RunResult) -> float | None:
    """Return what a step took once it was steady; None if it was not measured."""
    start = steady_from(result.windows)
    if result.outcome is not Outcome.MEASURED or start is None:
        return None
    return 1 / read(result.windows[start:]).steps_per_second
