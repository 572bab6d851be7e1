"""Configurations that need not be run, because they cannot win, by bounds.

A replica's step cannot be faster than the same step on one device that has the whole machine to
itself. So P replicas reach at most P times the throughput of one device with the same program, the
same input settings and the same batch for a replica. A larger batch, or fewer steps for each call,
does not make a step shorter: a step of b examples takes at least as long as one of fewer. And no
step is shorter than the exchange of its gradients.

Replicas of one process share its input pipeline, and workers with the shard policy DATA each run
the whole of it and keep their share of what it gives. Neither get more examples from it than one
device does that has the machine to itself. What its pipeline takes for a step is at least what the
step takes longer than without input.

The exchanges, and a step without its input, are timed apart, as far as that repays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from autotune.axis import AxisRole, Trend
from autotune.checks.remedies import undivided
from autotune.config import Configuration, axis_of
from autotune.options import PROFILE_SHARE
from autotune.reason import AllReduceBound, OneDeviceBound, PerformanceBound, SharedInputBound
from autotune.search.allreduce import Family, families, family, seconds_of_step
from autotune.search.history import History, Observed
from autotune.search.runner import Runner
from autotune.stats.intervals import t_quantile
from autotune.strategies import strategy
from autotune.value import Scalar
from autotune.workload import WorkloadFacts

WRONG = 0.00005
"""How often a single bound may err: a search tries about a hundred, devices times families."""

LogOffset = Callable[[Configuration], float]


class Bounds:
    """Proves that configurations cannot win, from what one device has shown.

    They need not gain more than the margin. The offset is log(score) minus log(rate), by which the
    objective tells configurations apart.
    """

    def __init__(
        self,
        history: History,
        facts: WorkloadFacts,
        margin: float,
        log_offset: LogOffset = lambda _: 0.0,
    ) -> None:
        self._history = history
        self._log_offset = log_offset
        self._facts = facts
        self._goal = math.log1p(margin)
        self._allreduce: dict[Family, float] = {}
        self._without_input: tuple[Configuration, float] | None = None

    def why_not(self, configuration: Configuration) -> PerformanceBound | None:
        """Return the bound by which a configuration cannot win, or None."""
        shown, baseline = self._history.observed, self._history.baseline
        if baseline is None or not configuration.distributed:
            return None
        best = self._score(baseline, shown[baseline])
        return (
            self._too_much_to_reduce(configuration, best)
            or self._too_much_to_read(configuration, shown)
            or self._too_slow_alone(configuration, shown, best)
        )

    def excludes(self, configuration: Configuration) -> bool:
        """Whether a configuration fails, trains otherwise, or is proved to be no better."""
        failing = configuration in self._history.ruled_out
        return failing or self.why_not(configuration) is not None

    def note_allreduce(self, configuration: Configuration, seconds: float) -> None:
        """Take in how long a step takes in which the replicas only exchange their gradients.

        A real exchange may be twice as fast as the one that was timed, which moves all gradients as
        one: TensorFlow may reduce several side by side, or while it still computes.
        """
        self._allreduce[family(configuration)] = seconds / 2.0

    def note_without_input(self, single: Configuration, seconds: float) -> None:
        """Take in how long a step of the best single device takes on a batch held in memory."""
        self._without_input = single, seconds

    def _too_much_to_reduce(
        self, configuration: Configuration, best: Observed
    ) -> PerformanceBound | None:
        seconds = self._allreduce.get(family(configuration))
        # Another model of the user's has other gradients than those that were timed.
        if seconds is None or configuration.own_values().keys() & {*self._facts.model_takes}:
            return None
        rate = Observed(math.log(configuration.global_batch / seconds), self._history.noise.sd)
        most = self._score(configuration, rate)
        if not self._below(most, best):
            return None
        share = math.exp(most.log - best.log)
        return AllReduceBound(seconds=seconds, global_batch=configuration.global_batch, share=share)

    def _too_much_to_read(
        self, configuration: Configuration, shown: Mapping[Configuration, Observed]
    ) -> PerformanceBound | None:
        if self._without_input is None or not undivided(configuration, self._facts):
            return None
        single, without = self._without_input
        if single not in shown or not _same_input(single, configuration):
            return None
        step = single.global_batch / math.exp(shown[single].log)
        rest = without / step
        if rest >= 1:
            return None
        # Both are of one device; only the small part that is no input adds to the doubt.
        gap = self._log_offset(configuration) - self._log_offset(single) - math.log1p(-rest)
        error = math.sqrt(2) * self._history.noise.sd * rest / (1 - rest)
        if not self._is_significantly_negative(gap - self._goal, error):
            return None
        return SharedInputBound(
            workers=configuration.workers,
            shard_policy=configuration.shard_policy,
            seconds=(step - without) / single.global_batch,
            share=math.exp(gap),
        )

    def _too_slow_alone(
        self, configuration: Configuration, shown: Mapping[Configuration, Observed], best: Observed
    ) -> PerformanceBound | None:
        for single, rate in shown.items():
            # A run that was stopped early may have been faster later on.
            if not (self._history.scores(single) and self._bounds(single, configuration)):
                continue
            whole = rate.log + math.log(configuration.global_batch / single.global_batch)
            most = self._score(configuration, Observed(whole, rate.sd))
            if self._below(most, best):
                return OneDeviceBound(
                    replicas=configuration.replicas,
                    per_replica_batch=single.per_replica_batch,
                    share=math.exp(most.log - best.log),
                )
        return None

    def _score(self, configuration: Configuration, rate: Observed) -> Observed:
        return Observed(rate.log + self._log_offset(configuration), rate.sd)

    def _bounds(self, single: Configuration, distributed: Configuration) -> bool:
        """Whether a step on one device is a lower bound of a step on a replica."""
        if single.distributed or not _no_longer_step(single, distributed):
            return False
        both = (single, distributed)
        return len({strategy(c.strategy).training(c, self._facts) for c in both}) == 1

    def _below(self, most: Observed, best: Observed) -> bool:
        gap = most.log - best.log - self._goal
        return self._is_significantly_negative(gap, math.hypot(most.sd, best.sd))

    def _is_significantly_negative(self, gap: float, error: float) -> bool:
        """Whether a difference of logarithms is below zero; its error follows from the noise."""
        return gap + t_quantile(self._history.noise.degrees, 1 - WRONG) * error < 0


def _no_longer_step(single: Configuration, distributed: Configuration) -> bool:
    """Whether nothing but the placement can make a step on one device the longer one."""
    mine = _values_beside_placement(single)
    return all(
        name in mine and axis_of(name).step_time.at_least(value, mine[name])
        for name, value in _values_beside_placement(distributed).items()
    )


def _same_input(one: Configuration, other: Configuration) -> bool:
    """Whether the input pipelines of both do the same work for an example."""
    theirs = _values_beside_placement(other)
    return all(
        axis_of(name).input_work is Trend.NONE or value == theirs.get(name)
        for name, value in _values_beside_placement(one).items()
    )


def _values_beside_placement(configuration: Configuration) -> dict[str, Scalar]:
    values = configuration.values().items()
    return {n: v for n, v in values if axis_of(n).role is not AxisRole.PLACEMENT}


def time_exchanges(runner: Runner, several: Sequence[Configuration], bounds: Bounds) -> None:
    """Time the exchange of every family that is large enough to repay it, while time lasts."""
    # Fewer gradients take no time worth timing, beside what a strategy adds to any step.
    gradient_bytes = runner.subject.facts.dense_gradient_bytes
    if gradient_bytes < 1_000_000:
        return
    budget = runner.budget
    most, began = PROFILE_SHARE * budget.left, budget.elapsed
    for each in families(several, least=12):
        if budget.elapsed - began + runner.history.costs.seconds(each) > most:
            return
        seconds = runner.allreduce_seconds(each, gradient_bytes)
        if seconds is not None:
            bounds.note_allreduce(each, seconds)


def time_without_input(runner: Runner, several: Sequence[Configuration], bounds: Bounds) -> None:
    """Time the baseline without its input, where that may tell what workers gain."""
    facts, baseline = runner.subject.facts, runner.history.baseline
    # Python code is what makes an input slow without doubt; elsewhere the timing may be in vain.
    if baseline is None or not facts.python_input:
        return
    if not any(undivided(each, facts) for each in several):
        return
    if runner.history.costs.seconds(baseline) <= runner.budget.left / 2:
        seconds = seconds_of_step(runner.without_trial(baseline, held=True))
        if seconds is not None:
            bounds.note_without_input(baseline, seconds)
