"""What a configuration's run has to pass before its rate is that of later epochs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.config import Configuration
from autotune.engine.tasks.train import Fill
from autotune.plain import Window
from autotune.search.request import Subject
from autotune.stats import Epoch, Lengths, drained
from autotune.strategies import strategy
from autotune.trial import Trial
from autotune.workload import Backlog, InputPass, WorkloadFacts, backlog_of

EVENT_SECONDS = 0.05
"""A wait at the end of an epoch that is shorter does not change a rate that is worth a verdict."""
FILL_SECONDS = 3.0
"""For reading the input alone, so that its caches are full; they hold fewer examples where all
would take half as long again."""
LONGEST_FILL = 6.0
"""Several processes that share the cores read more slowly than one alone."""

MORE_BACKLOG = 1.5
"""Times the backlog that was seen: it grows while a program compiles, before its first step."""


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
    steady_rate = 0.0
    if backlog := facts.backlog:
        # With shard policy data each of them goes through the examples of all.
        reading = 1 if configuration.shard_policy == "data" else configuration.workers
        ready = max(ready, MORE_BACKLOG * backlog.examples * reading / batch)
        steady_rate = backlog.examples_per_second * reading / batch
    fills_meanwhile = _caches(configuration, facts) and not fill_of(configuration, subject)
    return Epoch(
        steps=steps,
        ready=ready + steps if fills_meanwhile else ready,
        steady_rate=steady_rate,
        pause=pause,
        eventful=pause > EVENT_SECONDS or _has_callbacks(subject),
        lengths=_lengths(facts.first_pass, batch),
    )


def backlog_in(trial: Trial, facts: WorkloadFacts) -> Backlog | None:
    """Return what a run has shown to have been ready when it began; None if nothing.

    Only Python code may have fetched examples where nobody sees it, and only with shard policy data
    or in one process are the examples of a run those of one pipeline.
    """
    configuration = trial.configuration
    apart = configuration.workers > 1 and configuration.shard_policy != "data"
    if apart or not facts.python_input:
        return None
    curve = [(0.0, 0.0)]
    for window in trial.windows:
        examples, seconds = curve[-1]
        more = window.steps * configuration.global_batch
        curve.append((examples + more, seconds + window.seconds))
    return backlog_of(curve)


def lasting(before: Sequence[Window], pace: float, epoch: Epoch) -> float:
    """Return the share of a pace that lasts once what was ready is used up.

    Args:
        before: The windows of the run up to where the pace was read.
        pace: Steps per second.
        epoch: What is known of the run's epochs.
    """
    steps, seconds = sum(each.steps for each in before), sum(each.seconds for each in before)
    if not epoch.steady_rate or drained(steps, seconds, epoch):
        return 1.0
    return min(epoch.steady_rate / pace, 1.0)


def as_it_lasts(trial: Trial, subject: Subject) -> Trial:
    """Return a trial with the rate that is left once what was ready is used up."""
    if not trial.examples_per_second:
        return trial
    epoch, before = epoch_of(trial.configuration, subject), trial.windows[: trial.steady_from]
    pace = trial.examples_per_second / trial.configuration.global_batch
    share = lasting(before, pace, epoch)
    return trial.model_copy(update={"examples_per_second": share * trial.examples_per_second})


def _lengths(seen: InputPass | None, batch: int) -> Lengths:
    if seen is None or not seen.lengths:
        return Lengths()
    steps = seen.examples / len(seen.lengths) / batch
    return Lengths(parts=seen.lengths, scatter=seen.length_scatter, steps=steps, whole=seen.whole)
