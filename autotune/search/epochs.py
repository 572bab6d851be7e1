"""What a configuration's run has to pass before its rate is that of later epochs."""

from __future__ import annotations

import math

from autotune.config import Configuration
from autotune.measure import Epoch, Lengths
from autotune.run.engine import Fill
from autotune.search.request import Subject
from autotune.strategies import strategy
from autotune.workload import InputPass, WorkloadFacts

EVENT_SECONDS = 0.05
"""A wait at the end of an epoch that is shorter does not change a rate that is worth a verdict."""


FILL_SECONDS = 3.0
"""For reading the input alone, so that its caches are full; they hold fewer examples where all
would take half as long again."""
LONGEST_FILL = 6.0
"""Several processes that share the cores read more slowly than one alone."""


def fill_of(configuration: Configuration, subject: Subject) -> Fill | None:
    """Return which caches are filled before a configuration trains; None if there are none.

    Workers that a coordinator sends their input have nobody to fill theirs before.
    """
    facts = subject.facts
    apart = strategy(configuration.strategy).asynchronous
    if apart or not facts.examples or not _caches(configuration, facts):
        return None
    share = configuration.workers if configuration.shard_policy == "source" else 1
    examples, first = math.ceil(facts.examples / share), facts.first_pass
    soon = first.examples_per_second * FILL_SECONDS if first else math.inf
    if examples <= 1.5 * soon:
        return Fill(examples=examples, seconds=LONGEST_FILL)
    few = max(int(soon), configuration.global_batch)
    return Fill(examples=few, whole=False, seconds=LONGEST_FILL)


def _has_callbacks(subject: Subject) -> bool:
    fit = subject.facts.fit
    return subject.workload.callbacks is not None or (fit is not None and fit.callbacks)


def _caches(configuration: Configuration, facts: WorkloadFacts) -> bool:
    return configuration.cache != "off" or facts.cached


def epoch_of(configuration: Configuration, subject: Subject) -> Epoch:
    """Return what is known of a configuration's epochs before it runs."""
    facts, batch = subject.facts, configuration.global_batch
    again = facts.second_pass or facts.first_pass
    pause = again.pause if again else 0.0
    prefetch = configuration.prefetch if isinstance(configuration.prefetch, int) else 0
    steps = facts.examples / batch if facts.examples else math.inf
    # Each worker has a pipeline of its own.
    ready = facts.prefetched * configuration.workers / batch + prefetch
    fills_meanwhile = _caches(configuration, facts) and not fill_of(configuration, subject)
    return Epoch(
        steps=steps,
        ready=ready + steps if fills_meanwhile else ready,
        pause=pause,
        eventful=pause > EVENT_SECONDS or _has_callbacks(subject),
        lengths=_lengths(facts.first_pass, batch),
    )


def _lengths(seen: InputPass | None, batch: int) -> Lengths:
    if seen is None or not seen.lengths:
        return Lengths()
    steps = seen.examples / len(seen.lengths) / batch
    return Lengths(parts=seen.lengths, scatter=seen.length_scatter, steps=steps, whole=seen.whole)
