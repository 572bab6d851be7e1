"""What helps a step that waits for its input: the most promising remedy, and its measured gain.

A cache comes first, because from the second epoch on it leaves nothing of the work before it. More
calls at a time and whole batches make the work of one process shorter; workers only divide it, and
only if each reads its own share.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from autotune.axis import InputRemedy, Remedy
from autotune.base import Scalar, Value
from autotune.config import Configuration, axes
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
    tried = {each: pair for each in Remedy if (pair := _tried(each, trials))}
    taken = {each for each in Remedy if _takes(configuration, each)}
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


@cache
def _by_axis() -> Mapping[Remedy, tuple[str, InputRemedy]]:
    found = [(name, axis.remedy) for name, axis in axes().items()]
    return {remedy.kind: (name, remedy) for name, remedy in found if remedy}


def _takes(configuration: Configuration, remedy: Remedy) -> bool:
    if remedy not in _by_axis():
        return False
    name, of_axis = _by_axis()[remedy]
    return configuration[name] not in of_axis.without


def _tried(remedy: Remedy, trials: Trials) -> Tried | None:
    """Return what the two trials show that differ in least beside a remedy."""
    pairs = []
    for one in (each for each in trials if _takes(each, remedy)):
        name, of_axis = _by_axis()[remedy]
        beside = {it for it, axis in axes().items() if {it, axis.role} & {*of_axis.beside}}
        for other in (each for each in trials if not _takes(each, remedy)):
            theirs = other.values()
            changed = tuple((n, v) for n, v in one.values().items() if v != theirs.get(n))
            if {each for each, _ in changed} <= {name, *beside}:
                (trial, rate), (against, before) = trials[one], trials[other]
                factor = rate / before
                pairs.append(Tried(trial=trial, against=against, changed=changed, factor=factor))
    return min(pairs, key=lambda pair: (len(pair.changed), -pair.factor), default=None)


def _why_not(remedy: Remedy, facts: WorkloadFacts, found: Candidates) -> Obstacle:
    if remedy is Remedy.PARALLEL_CALLS and facts.python_input:
        return Obstacle.ONE_AT_A_TIME
    needed = _by_axis()[remedy][1].parameter if remedy in _by_axis() else "batch_size"
    if needed and needed not in facts.dataset_takes:
        return Obstacle.UNDECLARED
    tried = any(_takes(each, remedy) for each in found.configurations)
    return Obstacle.NOT_TRIED if tried else Obstacle.NOT_IN_SPACE
