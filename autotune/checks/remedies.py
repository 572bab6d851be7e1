"""What helps a step that waits for its input: the most promising remedy, and its measured gain.

A cache comes first, because from the second epoch on it leaves nothing of the work before it. More
calls at a time and whole batches make the work of one process shorter; workers only divide it, and
only if each reads its own share.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from autotune.axis import AxisRole
from autotune.base import Scalar, Value
from autotune.config import Configuration, axes_of
from autotune.reason import RuleKind
from autotune.space import Candidates
from autotune.workload import WorkloadFacts

HELPS = 1.2
"""A remedy that made the input so many times as fast helps."""
_OF_CACHES = (
    RuleKind.UNREPEATABLE_CACHE,
    RuleKind.LATE_CACHE,
    RuleKind.OWN_CACHE,
    RuleKind.FROZEN_CACHE,
    RuleKind.UNCOUNTED_CACHE,
    RuleKind.CACHE_TOO_LARGE,
    RuleKind.CACHE_BEYOND_DISK,
)


Trials = Mapping[Configuration, tuple[int, float]]
"""A trial of each configuration that was measured: its number and its examples per second."""


class Remedy(StrEnum):
    """What makes an input faster, in the order in which it is worth a try."""

    CACHE = "cache"
    PARALLEL_CALLS = "parallel calls"
    DATASET_WORKERS = "dataset workers"
    """Of a `keras.utils.PyDataset`, in place of these calls."""
    VECTORIZED_MAP = "vectorized map"
    SOURCE = "sharding at the source"
    WORKERS = "more workers"


class Obstacle(StrEnum):
    """Why the trials do not tell what a remedy does."""

    UNDECLARED = "undeclared"
    """The dataset factory does not declare the parameter that it needs."""
    ONE_AT_A_TIME = "one at a time"
    """The input is Python code, which does one thing at a time in each process."""
    NOT_IN_SPACE = "not in space"
    NOT_TRIED = "not tried"
    """Not by itself, within the budget."""


class Tried(Value):
    """What a remedy did, in two trials that are alike otherwise."""

    trial: int
    """With it."""
    against: int
    """Without it."""
    changed: tuple[tuple[str, Scalar], ...]
    """The axes in which it differs, with its values."""
    factor: float
    """Its examples per second, as a multiple of those without it."""


class Advice(Value):
    """A remedy, and what is known of it."""

    remedy: Remedy
    tried: Tried | None = None
    why_not: Obstacle | None = None
    """None if it was measured."""


class _Need(NamedTuple):
    """What a remedy takes."""

    axis: str = ""
    """Says whether it is taken; empty where none does."""
    without: tuple[Scalar, ...] = ()
    """Its values where it is not."""
    beside: tuple[str, ...] = ()
    """The axes that may differ as well."""
    parameter: str = ""
    """The dataset factory has to declare it; empty if nothing."""

    def taken(self, configuration: Configuration) -> bool:
        return bool(self.axis) and configuration[self.axis] not in self.without


_NEEDS = {
    Remedy.CACHE: _Need("cache", ("off",), axes_of(AxisRole.INPUT)),
    Remedy.PARALLEL_CALLS: _Need(
        "num_parallel_calls", ("auto", 1), ("private_threadpool_size",), "num_parallel_calls"
    ),
    Remedy.DATASET_WORKERS: _Need("py_dataset_workers", (0, 1), ("private_threadpool_size",)),
    Remedy.VECTORIZED_MAP: _Need(parameter="batch_size"),
    Remedy.SOURCE: _Need(
        "shard_policy", ("auto", "data", "file", "off"), parameter="input_context"
    ),
    Remedy.WORKERS: _Need("workers", (1,), axes_of(AxisRole.PLACEMENT)),
}


def read_whole(configuration: Configuration, facts: WorkloadFacts) -> bool:
    """Whether every worker runs the whole input pipeline and keeps only its share of it."""
    if configuration.workers == 1 or configuration.cache != "off":
        return False
    policy = configuration.shard_policy
    return policy == "data" or (policy == "auto" and not facts.file_shards)


def read_by_one(configuration: Configuration, facts: WorkloadFacts) -> int:
    """Return how many examples one pipeline reads for a step."""
    if read_whole(configuration, facts):
        return configuration.global_batch
    return configuration.global_batch // configuration.workers


def advise(
    configuration: Configuration, facts: WorkloadFacts, found: Candidates, trials: Trials
) -> tuple[Tried | None, Advice | None]:
    """Return the best that a remedy of a configuration has brought, and the most promising other.

    A remedy that two trials show to help comes before one that was not tried. One that was tried in
    vain, or that a rule forbids, is no advice.
    """
    tried = {each: pair for each, need in _NEEDS.items() if (pair := _tried(need, trials))}
    taken = {each for each, need in _NEEDS.items() if need.taken(configuration)}
    helps = (each for each in tried if tried[each].factor >= HELPS)
    ranked = sorted(helps, key=lambda each: -tried[each].factor)
    gained = next((tried[each] for each in ranked if each in taken), None)
    for each in ranked:
        if each not in taken:
            return gained, Advice(remedy=each, tried=tried[each])
    # Of workers there may be one more.
    known = (tried.keys() | taken) - (taken & {Remedy.WORKERS})
    for each in Remedy:
        if each not in known and _fits(each, facts, found):
            return gained, Advice(remedy=each, why_not=_why_not(each, facts, found))
    return gained, None


def _fits(remedy: Remedy, facts: WorkloadFacts, found: Candidates) -> bool:
    """Return whether a remedy means something for a workload, and nothing forbids it."""
    match remedy:
        case Remedy.CACHE:
            return not any(each.rule.kind in _OF_CACHES for each in found.limits)
        case Remedy.PARALLEL_CALLS:
            return not facts.py_dataset
        case Remedy.DATASET_WORKERS:
            return facts.py_dataset
        case Remedy.VECTORIZED_MAP:
            return not facts.batched
        case Remedy.SOURCE:  # A script has no factory to be given its share.
            return facts.fit is None
    return True


def _tried(need: _Need, trials: Trials) -> Tried | None:
    """Return what the two trials show that differ in least beside a remedy."""
    pairs = []
    for one in (each for each in trials if need.taken(each)):
        for other in (each for each in trials if not need.taken(each)):
            theirs = other.values()
            changed = tuple((n, v) for n, v in one.values().items() if v != theirs.get(n))
            if {name for name, _ in changed} <= {need.axis, *need.beside}:
                (trial, rate), (against, before) = trials[one], trials[other]
                factor = rate / before
                pairs.append(Tried(trial=trial, against=against, changed=changed, factor=factor))
    return min(pairs, key=lambda pair: (len(pair.changed), -pair.factor), default=None)


def _why_not(remedy: Remedy, facts: WorkloadFacts, found: Candidates) -> Obstacle:
    need = _NEEDS[remedy]
    if remedy is Remedy.PARALLEL_CALLS and facts.python_input:
        return Obstacle.ONE_AT_A_TIME
    if need.parameter and need.parameter not in facts.dataset_takes:
        return Obstacle.UNDECLARED
    tried = any(need.taken(each) for each in found.configurations)
    return Obstacle.NOT_TRIED if tried else Obstacle.NOT_IN_SPACE
