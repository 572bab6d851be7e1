"""What helps against waiting for input, and what the trials tell of it."""

import pytest

from autotune.axis import Remedy
from autotune.checks.remedies import Advice, Obstacle, Trials, Tried, advise
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
ALL = WorkloadFacts(dataset_takes=("num_parallel_calls", "input_context", "batch_size"))
NO_CACHE = Rule(kind=RuleKind.UNREPEATABLE_CACHE, text="Map")


def advice(
    configuration: Configuration = ALONE,
    trials: Trials | None = None,
    *,
    facts: WorkloadFacts = ALL,
    configurations: tuple[Configuration, ...] = EVERY,
    rules: tuple[Rule, ...] = (),
) -> tuple[Tried | None, Advice | None]:
    limits = tuple(Limit(strategy="one_device", rule=each, configurations=1) for each in rules)
    found = Candidates(configurations=configurations, limits=limits)
    return advise(configuration, facts, found, trials or {})


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
    """To the configuration without it, and to the one that has it; they differ in nothing else."""
    trials = {other: (2, 100.0), one: (7, 250.0)}
    _, found = advice(other, trials)
    assert (found.remedy, found.tried.trial, found.tried.against) == (remedy, 7, 2)
    assert found.tried.factor == 2.5
    had, _ = advice(one, trials)
    assert had == found.tried
    elsewhere = {other.but(steps_per_execution=8): (2, 100.0), one: (7, 250.0)}
    assert advice(one, elsewhere)[0] is None


def test_what_was_tried_in_vain_is_no_advice() -> None:
    trials = {ALONE: (0, 100.0), CACHED: (1, 105.0)}
    assert advice(trials=trials)[1].remedy is Remedy.PARALLEL_CALLS
    assert advice(CACHED, trials)[0] is None


def test_what_helps_most_comes_first() -> None:
    trials = {ALONE: (0, 100.0), CACHED: (1, 150.0), PARALLEL: (2, 200.0)}
    assert advice(trials=trials)[1].remedy is Remedy.PARALLEL_CALLS


def test_the_pair_that_differs_least_tells() -> None:
    both = CACHED.but(num_parallel_calls=16)
    trials = {ALONE: (0, 10.0), both: (1, 900.0)}
    changed = (("num_parallel_calls", 16), ("cache", "memory"))
    assert advice(both, trials)[0] == Tried(trial=1, against=0, changed=changed, factor=90.0)
    trials |= {PARALLEL: (2, 20.0)}
    assert advice(both, trials)[0] == Tried(
        trial=1, against=2, changed=(("cache", "memory"),), factor=45.0
    )


@pytest.mark.parametrize(
    ("configuration", "facts", "found"),
    [
        (ALONE, ALL, Advice(remedy=Remedy.CACHE, why_not=Obstacle.NOT_TRIED)),
        (
            CACHED,
            WorkloadFacts(),
            Advice(remedy=Remedy.PARALLEL_CALLS, why_not=Obstacle.UNDECLARED),
        ),
        (
            CACHED,
            WorkloadFacts(python_input=True),
            Advice(remedy=Remedy.PARALLEL_CALLS, why_not=Obstacle.ONE_AT_A_TIME),
        ),
    ],
)
def test_what_nobody_tried_has_its_reason(
    configuration: Configuration, facts: WorkloadFacts, found: Advice
) -> None:
    """The factory does not offer it, or the budget did not suffice."""
    assert advice(configuration, facts=facts) == (None, found)


def test_a_cache_that_cannot_be_is_no_advice() -> None:
    """A rule took it out of the space; without one the space had none."""
    assert advice(rules=(NO_CACHE,))[1].remedy is Remedy.PARALLEL_CALLS
    assert advice(configurations=(ALONE,))[1].why_not is Obstacle.NOT_IN_SPACE


@pytest.mark.parametrize(
    "facts",
    [
        WorkloadFacts(returned=Returned(by_python=True), fit=FitFacts(line=1)),
        WorkloadFacts(fit=FitFacts(line=1), dataset_takes=("batch_size",)),
    ],
    ids=["batches made in Python", "a script"],
)
def test_what_means_nothing_for_a_workload_is_not_told(facts: WorkloadFacts) -> None:
    """A factory that batches maps whole batches; a script has none that takes its share."""
    both = PARALLEL.but(py_dataset_workers=4)
    assert advice(both, facts=facts, rules=(NO_CACHE,))[1].remedy is Remedy.WORKERS


def test_batches_made_in_python_take_more_workers_instead_of_calls() -> None:
    facts = WorkloadFacts(returned=Returned(by_python=True), python_input=True)
    many = ALONE.but(py_dataset_workers=4)
    trials = {ALONE: (0, 10.0), many: (1, 30.0)}
    _, found = advice(facts=facts, trials=trials, configurations=(ALONE, many))
    assert (found.remedy, found.tried.factor) == (Remedy.DATASET_WORKERS, 3)
