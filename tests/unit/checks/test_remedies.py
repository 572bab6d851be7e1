"""What helps against waiting for input, and what the trials tell of it."""

from __future__ import annotations

import pytest

from autotune.checks.remedies import Advice, Obstacle, Rated, Remedy, Tried, advise
from autotune.config import Configuration
from autotune.reason import Rule, RuleKind
from autotune.space import Candidates, Limit
from autotune.workload import FitFacts, Returned, WorkloadFacts

ALONE = Configuration()
CACHED = ALONE.but(cache="memory")
PARALLEL = ALONE.but(num_parallel_calls=16)
WORKERS = ALONE.but(strategy="multi_worker_mirrored", workers=2, shard_policy="data")
SOURCE = WORKERS.but(shard_policy="source")
EVERY = (ALONE, CACHED, PARALLEL, WORKERS, SOURCE)
ALL = WorkloadFacts(dataset_takes=("num_parallel_calls", "input_context"))


def advice(
    remedy: Remedy,
    rates: dict[Configuration, Rated] | None = None,
    *,
    facts: WorkloadFacts = ALL,
    configurations: tuple[Configuration, ...] = EVERY,
    rules: tuple[Rule, ...] = (),
) -> Advice:
    limits = tuple(Limit(strategy="one_device", rule=each, configurations=1) for each in rules)
    found = Candidates(configurations=configurations, limits=limits)
    [mine] = [each for each in advise(facts, found, rates or {}) if each.remedy is remedy]
    return mine


@pytest.mark.parametrize(
    ("remedy", "one", "other"),
    [
        (Remedy.CACHE, CACHED, ALONE),
        (Remedy.PARALLEL_CALLS, PARALLEL, ALONE),
        (Remedy.SOURCE, SOURCE, WORKERS),
        (Remedy.WORKERS, SOURCE, ALONE),
    ],
)
def test_two_trials_tell_what_a_remedy_does(
    remedy: Remedy, one: Configuration, other: Configuration
) -> None:
    rates = {other: Rated(2, 100.0), one: Rated(7, 250.0)}
    found = advice(remedy, rates).tried
    assert (found.trial, found.against, found.factor) == (7, 2, 2.5)
    elsewhere = {other.but(steps_per_execution=8): Rated(2, 100.0), one: Rated(7, 250.0)}
    assert advice(remedy, elsewhere) == Advice(remedy=remedy, why_not=Obstacle.NOT_TRIED)


def test_the_pair_that_differs_least_tells() -> None:
    both = CACHED.but(num_parallel_calls=16)
    rates = {ALONE: Rated(0, 10.0), both: Rated(1, 900.0)}
    changed = (("num_parallel_calls", 16), ("cache", "memory"))
    assert advice(Remedy.CACHE, rates).tried == Tried(
        trial=1, against=0, changed=changed, factor=90.0
    )
    rates |= {PARALLEL: Rated(2, 20.0)}
    assert advice(Remedy.CACHE, rates).tried == Tried(
        trial=1, against=2, changed=(("cache", "memory"),), factor=45.0
    )


@pytest.mark.parametrize(
    ("remedy", "facts", "obstacle"),
    [
        (Remedy.PARALLEL_CALLS, WorkloadFacts(), Obstacle.UNDECLARED),
        (Remedy.PARALLEL_CALLS, WorkloadFacts(python_input=True), Obstacle.ONE_AT_A_TIME),
        (Remedy.VECTORIZED_MAP, WorkloadFacts(), Obstacle.UNDECLARED),
        (Remedy.SOURCE, WorkloadFacts(), Obstacle.UNDECLARED),
        (Remedy.WORKERS, WorkloadFacts(), Obstacle.NOT_TRIED),
    ],
)
def test_what_nobody_tried_has_its_reason(
    remedy: Remedy, facts: WorkloadFacts, obstacle: Obstacle
) -> None:
    """The factory does not offer it, or the budget did not suffice."""
    assert advice(remedy, facts=facts).why_not is obstacle


def test_a_cache_that_cannot_be_has_its_rule() -> None:
    """The one that took it out of the space; without one the space had none."""
    rule = Rule(kind=RuleKind.UNREPEATABLE_CACHE, text="Map")
    found = advice(Remedy.CACHE, configurations=(ALONE,), rules=(rule,))
    assert found.why_not == rule
    assert advice(Remedy.CACHE, configurations=(ALONE,)).why_not is Obstacle.NOT_IN_SPACE


@pytest.mark.parametrize(
    ("remedy", "facts"),
    [
        (Remedy.VECTORIZED_MAP, WorkloadFacts(dataset_takes=("batch_size",))),
        (Remedy.SOURCE, WorkloadFacts(fit=FitFacts(line=1), dataset_takes=("batch_size",))),
    ],
    ids=["who batches", "a script"],
)
def test_what_means_nothing_for_a_workload_is_not_told(
    remedy: Remedy, facts: WorkloadFacts
) -> None:
    """A factory that batches maps whole batches; a script has none that takes its share."""
    found = Candidates(configurations=EVERY, limits=())
    assert remedy not in {each.remedy for each in advise(facts, found, {})}


def test_batches_made_in_python_take_more_workers_instead_of_calls() -> None:
    facts = WorkloadFacts(returned=Returned(by_python=True), python_input=True)
    many = ALONE.but(py_dataset_workers=4)
    found = Candidates(configurations=(ALONE, many), limits=())
    rates = {ALONE: Rated(0, 10.0), many: Rated(1, 30.0)}
    told = {each.remedy: each.tried for each in advise(facts, found, rates)}
    assert Remedy.PARALLEL_CALLS not in told
    assert told[Remedy.DATASET_WORKERS].factor == 3
