"""On what, with what, and when it was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from autotune.report.words import counted, roughly, size
from autotune.result import Result
from autotune.version import VERSION
from autotune.workload import WorkloadFacts

Fact = tuple[str, str]


def measured(result: Result, written: datetime) -> tuple[Fact, ...]:
    """Return the circumstances, each with its name."""
    return tuple(_facts(result, written))


def _facts(result: Result, written: datetime) -> Iterator[Fact]:
    machine = result.machine
    yield "Machine", f"{machine}; {machine.processor}"
    own = f"autotune {VERSION}, Python {machine.python}"
    yield "Software", f"{own}, TensorFlow {machine.tensorflow}, Keras {machine.keras}"
    yield "Workload", f"{result.workload.model.short_name} on {result.workload.dataset.short_name}"
    yield "Data and model", _workload(result.facts)
    yield "Search", _search(result)
    yield "Seed", str(result.options.seed)
    yield "Study", f"{result.study}, in study.db or the given storage"
    yield "Written", f"{written:%Y-%m-%d %H:%M} UTC"


def _workload(facts: WorkloadFacts) -> str:
    each = size(facts.example_bytes)
    count = counted(facts.examples, "example") if facts.examples else "uncounted examples"
    parts = [f"{count} of {each}", f"{facts.weights:,} weights", facts.optimizer, facts.loss]
    return "; ".join(filter(None, parts))


def _search(result: Result) -> str:
    found = Counter(str(trial.outcome) for trial in result.trials)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
    trials = counted(len(result.trials), "trial")
    return (
        f"{trials} in {roughly(result.seconds)} ({outcomes}), {roughly(result.prepared_seconds)} "
        "of it before the first trial"
    )
