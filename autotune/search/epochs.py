"""What a configuration's run has to pass before its rate is that of later epochs, and its record.

The record says what the windows of a run let expect of a longer training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.engine.tasks.train import Fill
from autotune.reason import Outcome
from autotune.search.request import Subject
from autotune.search.stopping import PATIENCE
from autotune.shared_values import Window
from autotune.stats.windows import UNKNOWN, Epoch, Lengths, Reading, drained, read, steady_from
from autotune.strategies import strategy
from autotune.trial import Stage, Trial
from autotune.workload import InputPass, WorkloadFacts


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
    # All are read where that takes half as long again as what is read soon.
    soon = first.examples_per_second * PATIENCE if first else math.inf
    whole = examples <= 1.5 * soon
    count = examples if whole else max(int(soon), configuration.global_batch)
    # Several processes that share the cores read more slowly than one alone.
    return Fill(examples=count, whole=whole, seconds=2 * PATIENCE)


def _caches(configuration: Configuration, facts: WorkloadFacts) -> bool:
    return configuration.cache != "off" or facts.cached


def epoch_of(configuration: Configuration, subject: Subject) -> Epoch:
    """Return what is known of a configuration's epochs before it runs."""
    facts, batch = subject.facts, configuration.global_batch
    calls_back = subject.workload.callbacks is not None or bool(facts.fit and facts.fit.callbacks)
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
        # Half as much again: it grows while a program compiles, before its first step.
        ready = max(ready, 1.5 * backlog.examples * reading / batch)
        steady_rate = backlog.examples_per_second * reading / batch
    fills_meanwhile = _caches(configuration, facts) and not fill_of(configuration, subject)
    return Epoch(
        steps=steps,
        ready=ready + steps if fills_meanwhile else ready,
        steady_rate=steady_rate,
        pause=pause,
        # A shorter wait does not change a rate that is worth a verdict.
        eventful=pause > 0.05 or calls_back,
        lengths=_lengths(facts.first_pass, batch),
    )


def _lengths(seen: InputPass | None, batch: int) -> Lengths:
    if seen is None or not seen.lengths:
        return Lengths()
    steps = seen.examples / len(seen.lengths) / batch
    return Lengths(parts=seen.lengths, scatter=seen.length_scatter, steps=steps, whole=seen.whole)


def trial_of(
    number: int,
    stage: Stage,
    configuration: Configuration,
    result: RunResult,
    epoch: Epoch = UNKNOWN,
) -> Trial:
    start = steady_from(result.windows, epoch)
    shown = result.windows[start:] if start is not None else ()
    if result.outcome is Outcome.PRUNED and not shown:
        shown = result.windows[len(result.windows) // 2 :]
    reading = read(shown, epoch) if shown else None
    return Trial(
        **dict(result),
        number=number,
        stage=stage,
        configuration=configuration,
        examples_per_second=reading and reading.steps_per_second * configuration.global_batch,
        error=reading and reading.error,
        least=_least(result.windows, shown, reading, epoch) if reading else 1.0,
        lengths_error=epoch.lengths.error(sum(each.steps for each in shown)),
        steady_from=start,
    )


def _least(
    windows: Sequence[Window], shown: Sequence[Window], reading: Reading, epoch: Epoch
) -> float:
    """Return the share of a rate that is left if what was not seen is as the input showed."""
    before, pace = windows[: len(windows) - len(shown)], reading.steps_per_second
    steps, seconds = sum(each.steps for each in before), sum(each.seconds for each in before)
    least = 1.0
    if epoch.steady_rate and not drained(steps, seconds, epoch):
        # What was ready before the steps that were read is used up at some time.
        least = min(epoch.steady_rate / pace, 1.0)
    if any(each.ends for each in shown) or math.isinf(epoch.steps):
        return least
    # No end was seen.
    whole = epoch.steps / pace
    return min(whole / (whole + epoch.pause), least)
