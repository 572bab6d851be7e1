"""What a step waits for its input, and what helps: the most promising first, and its measured gain.

A cache comes first, because from the second epoch on it leaves nothing of the work before it. More
calls at a time and whole batches make the work of one process shorter; workers only divide it, and
only if each reads its own share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from autotune.axis import AxisRole
from autotune.config import Configuration, axes_of
from autotune.reason import Rule, RuleKind
from autotune.space import Candidates
from autotune.value import Scalar, Value
from autotune.workload import WorkloadFacts

_SIZES = (RuleKind.UNCOUNTED_CACHE, RuleKind.CACHE_TOO_LARGE, RuleKind.CACHE_BEYOND_DISK)
_OWN = (RuleKind.OWN_CACHE, RuleKind.FROZEN_CACHE)
_OF_CACHES = (RuleKind.UNREPEATABLE_CACHE, RuleKind.LATE_CACHE, *_OWN, *_SIZES)


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


class Rated(NamedTuple):
    """What a configuration reached in the trial of a number."""

    trial: int
    examples_per_second: float


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
    why_not: Rule | Obstacle | None = None
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


def undivided(configuration: Configuration, facts: WorkloadFacts) -> bool:
    """Whether more replicas leave the work of each input pipeline as it is."""
    return configuration.workers == 1 or read_whole(configuration, facts)


def read_by_one(configuration: Configuration, facts: WorkloadFacts) -> int:
    """Return how many examples one pipeline reads for a step."""
    if read_whole(configuration, facts):
        return configuration.global_batch
    return configuration.global_batch // configuration.workers


def advise(
    facts: WorkloadFacts, found: Candidates, rates: Mapping[Configuration, Rated]
) -> tuple[Advice, ...]:
    """Return each remedy with what the trials tell of it, or why they tell nothing."""
    advice = []
    for each in (each for each in Remedy if _fits(each, facts)):
        pairs = _pairs(each, rates)
        tried = min(pairs, key=lambda pair: (len(pair.changed), -pair.factor), default=None)
        why_not = None if tried else _why_not(each, facts, found)
        advice.append(Advice(remedy=each, tried=tried, why_not=why_not))
    return tuple(advice)


def _fits(remedy: Remedy, facts: WorkloadFacts) -> bool:
    meant = {
        Remedy.PARALLEL_CALLS: not facts.py_dataset,
        Remedy.DATASET_WORKERS: facts.py_dataset,
        Remedy.VECTORIZED_MAP: not facts.batched,
        Remedy.SOURCE: facts.fit is None,  # A script has no factory to be given its share.
    }
    return meant.get(remedy, True)


def takes(configuration: Configuration, remedy: Remedy) -> bool:
    need = _NEEDS[remedy]
    return bool(need.axis) and configuration[need.axis] not in need.without


def _pairs(remedy: Remedy, rates: Mapping[Configuration, Rated]) -> Iterator[Tried]:
    need = _NEEDS[remedy]
    for one in (each for each in rates if takes(each, remedy)):
        for other in (each for each in rates if not takes(each, remedy)):
            theirs = other.values()
            changed = tuple((n, v) for n, v in one.values().items() if v != theirs.get(n))
            if {name for name, _ in changed} <= {need.axis, *need.beside}:
                yield Tried(
                    trial=rates[one].trial,
                    against=rates[other].trial,
                    changed=changed,
                    factor=rates[one].examples_per_second / rates[other].examples_per_second,
                )


def _why_not(remedy: Remedy, facts: WorkloadFacts, found: Candidates) -> Rule | Obstacle:
    need = _NEEDS[remedy]
    if remedy is Remedy.PARALLEL_CALLS and facts.python_input:
        return Obstacle.ONE_AT_A_TIME
    if need.parameter and need.parameter not in facts.dataset_takes:
        return Obstacle.UNDECLARED
    if any(takes(each, remedy) for each in found.configurations):
        return Obstacle.NOT_TRIED
    rules: Sequence[Rule] = [each.rule for each in found.limits if each.rule.kind in _OF_CACHES]
    return rules[0] if rules and remedy is Remedy.CACHE else Obstacle.NOT_IN_SPACE
