"""Which configurations can run on this machine with this workload, and why the others cannot.

What is special to a strategy is in its own file; here is what holds for all of them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from autotune.base import Scalar
from autotune.config import Configuration, equal_parts
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.reason import Rule, RuleKind, indivisible
from autotune.shared_values import Change
from autotune.strategies import strategy, update_batch
from autotune.workload import BatchSource, WorkloadFacts, own_batch

CACHE_SHARE = 0.25
"""Of the machine's memory, at most this share may hold cached examples."""
DISK_SHARE = 0.5
"""Of the free disk."""
Check = Callable[[Configuration], Rule | None]
ANYTHING = SearchOptions(allow_asynchronous=True)
"""The options where the user asks for one configuration, whatever it is."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What decides whether a configuration can run."""

    machine: Machine
    facts: WorkloadFacts
    options: SearchOptions = ANYTHING

    def why_illegal(self, configuration: Configuration) -> Rule | None:
        return self._first(
            configuration,
            *(self._permission, self._model, self._division, self._eagerness, self._own_batch),
            *(self._batch, self._epoch, self._cache, self._hardware),
            *(self._workers, self._strategy),
        )

    def why_illegal_placement(self, configuration: Configuration) -> Rule | None:
        """Return the rule that a placement breaks, or None if something with it can run.

        All else must be at its default, which breaks no rule of any strategy. A batch that the
        options fix is divided already.
        """
        checks = (self._permission, self._model, self._division, self._workers, self._strategy)
        return self._first(configuration, *checks)

    def _first(self, configuration: Configuration, *checks: Check) -> Rule | None:
        return next(filter(None, (check(configuration) for check in checks)), None)

    def _permission(self, configuration: Configuration) -> Rule | None:
        asynchronous = strategy(configuration.strategy).asynchronous
        refused = asynchronous and not self.options.allow_asynchronous
        return Rule(kind=RuleKind.ASYNCHRONOUS) if refused else None

    def _model(self, configuration: Configuration) -> Rule | None:
        return why_alone(self.facts) if configuration.distributed else None

    def _eagerness(self, configuration: Configuration) -> Rule | None:
        if configuration.run_eagerly:
            beyond = configuration.distributed or configuration.xla
            return Rule(kind=RuleKind.EAGER) if beyond else None
        why_not = self.facts.uncompilable
        return Rule(kind=RuleKind.UNCOMPILABLE, text=why_not) if why_not else None

    def _own_batch(self, configuration: Configuration) -> Rule | None:
        facts, mine = self.facts, configuration.per_replica_batch
        if facts.built_in_batch not in (None, mine):
            return Rule(kind=RuleKind.BUILT_IN_BATCH, figure=facts.built_in_batch)
        own, source = own_batch(facts, self.options.global_batch)
        known = source is not BatchSource.KERAS
        if facts.summed_loss and known and update_batch(configuration) != own:
            return Rule(kind=RuleKind.SUMMED_LOSS)
        if facts.carried_state and mine != own:
            return Rule(kind=RuleKind.CARRIED_STATE, text=facts.carried_state)
        return None

    def _division(self, configuration: Configuration) -> Rule | None:
        batch, replicas = self.options.global_batch, configuration.replicas
        if batch and configuration.per_replica_batch != self.own_part(batch, replicas):
            return indivisible(batch, replicas)
        return None

    def own_part(self, batch: int, replicas: int) -> int:
        """Return what each replica gets of the user's own batch, or of the nearest that divides.

        0 where there is none: the script can have no other batch, or it would be far off.
        """
        fit = self.facts.fit
        only = self.facts.summed_loss or (fit is not None and fit.only_batch is not None)
        return 0 if only and batch % replicas else equal_parts(batch, replicas)

    def _batch(self, configuration: Configuration) -> Rule | None:
        batch, most = configuration.global_batch, self.options.max_global_batch
        if most and batch > most:
            return Rule(kind=RuleKind.BATCH_LIMIT, figure=most)
        if self.facts.examples is not None and batch > self.facts.examples:
            return Rule(kind=RuleKind.DATASET_TOO_SMALL, text=self.facts.how_many)
        return None

    def _epoch(self, configuration: Configuration) -> Rule | None:
        if self.facts.examples is None:
            return None
        steps = self.facts.examples // configuration.global_batch
        if configuration.steps_per_execution > max(steps, 1):
            return Rule(kind=RuleKind.EPOCH_TOO_SHORT)
        return None

    def caches(self, values: tuple[Scalar, ...], workers: int) -> tuple[Scalar, ...]:
        """Return where examples may be cached: in a file only what memory does not hold."""
        each = Configuration(cache="memory", workers=workers, shard_policy="data")
        rule = self._cache(each)
        beyond = rule is not None and rule.kind is RuleKind.CACHE_TOO_LARGE
        wanted = beyond or "memory" not in values
        return tuple(value for value in values if wanted or value != "file")

    def _cache(self, configuration: Configuration) -> Rule | None:
        if configuration.cache == "off":
            return None
        size = self.facts.cache_bytes
        if why := why_uncached(self.facts):
            return why
        if size is None:
            return Rule(kind=RuleKind.UNCOUNTED_CACHE)
        workers, hosts = configuration.workers, len(self.machine.hosts)
        # Who reads only its share caches no more.
        shares = workers if configuration.shard_policy in ("source", "file") else 1
        size = math.ceil(size * math.ceil(workers / hosts) / shares)
        host = self.machine.least
        if configuration.cache == "memory":
            full, kind = size > CACHE_SHARE * host.memory, RuleKind.CACHE_TOO_LARGE
        else:
            full, kind = size > DISK_SHARE * host.free_disk, RuleKind.CACHE_BEYOND_DISK
        return Rule(kind=kind, figure=size) if full else None

    def _hardware(self, configuration: Configuration) -> Rule | None:
        cores = self.machine.least.cpus
        if configuration.intra_op_parallelism_threads > cores:
            return Rule(kind=RuleKind.TOO_MANY_THREADS, figure=cores)
        if configuration.precision == "mixed_float16" and not self.machine.gpus:
            return Rule(kind=RuleKind.FLOAT16_WITHOUT_GPU)
        return None

    def _workers(self, configuration: Configuration) -> Rule | None:
        fit = self.facts.fit
        if configuration.workers < 2 or fit is None or not fit.others:
            return None
        return Rule(kind=RuleKind.ALONE, figure=fit.others[0].line)

    def _strategy(self, configuration: Configuration) -> Rule | None:
        if configuration.strategy != "one_device" and not configuration.distributed:
            return Rule(kind=RuleKind.ONE_REPLICA)
        mine = strategy(configuration.strategy)
        loops = mine.training(configuration, self.facts) != "fit"
        if self.facts.own_train_function and (loops or configuration.steps_per_execution > 1):
            return Rule(kind=RuleKind.OWN_TRAIN_FUNCTION)
        text = mine.why_illegal(configuration, self.machine, self.facts)
        return Rule(kind=RuleKind.STRATEGY, text=text) if text else None


def why_alone(facts: WorkloadFacts) -> Rule | None:
    """Return why several replicas cannot train the model with the user's data."""
    if facts.carried_state:
        return Rule(kind=RuleKind.CARRIED_STATE, text=facts.carried_state)
    if facts.accumulated_steps > 1:
        return Rule(kind=RuleKind.ACCUMULATION, figure=facts.accumulated_steps)
    if facts.uncompilable:
        return Rule(kind=RuleKind.UNCOMPILABLE, text=facts.uncompilable)
    if facts.built_in_batch is not None and facts.fit and facts.fit.only_batch:
        return Rule(kind=RuleKind.BUILT_IN_BATCH, figure=facts.built_in_batch)
    return None


def why_uncached(facts: WorkloadFacts) -> Rule | None:
    """Return why a cache would change the training, or do nothing for it, whatever its size."""
    if facts.handed:
        late = any(each.change is Change.EXAMPLES for each in facts.handed)
        return Rule(kind=RuleKind.LATE_CACHE) if late else None
    if facts.frozen_stage:
        return Rule(kind=RuleKind.FROZEN_CACHE, text=facts.frozen_stage)
    if facts.cached:
        return Rule(kind=RuleKind.OWN_CACHE)
    if not facts.repeatable and not facts.shuffle_buffer:
        return Rule(kind=RuleKind.UNREPEATABLE_CACHE, text=facts.random_stage)
    return None
