"""Which configurations can run on this machine with this workload, and why the others cannot.

What is special to a strategy is in its own file; here is what holds for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.reason import Rule, RuleKind
from autotune.strategies import strategy
from autotune.workload import WorkloadFacts

CACHE_SHARE = 0.25
"""Of the machine's memory, at most this share may hold cached examples."""
ANYTHING = SearchOptions(allow_asynchronous=True)
"""The options where the user asks for one configuration, whatever it is."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What decides whether a configuration can run.

    Attributes:
        machine: Where it would run.
        facts: Of the workload.
        options: What the user holds fixed.
    """

    machine: Machine
    facts: WorkloadFacts
    options: SearchOptions = ANYTHING

    def why_illegal(self, configuration: Configuration) -> Rule | None:
        """Return the rule that a configuration breaks, or None if it can run."""
        return (
            self._permission(configuration)
            or self._division(configuration)
            or self._batch(configuration)
            or self._epoch(configuration)
            or self._cache(configuration)
            or self._hardware(configuration)
            or self._strategy(configuration)
        )

    def why_illegal_placement(self, configuration: Configuration) -> Rule | None:
        """Return the rule that a placement breaks, or None if something with it can run.

        Args:
            configuration: All but its placement must be at its default, which breaks no rule of any
                strategy. A batch that the options fix is divided already.
        """
        return (
            self._permission(configuration)
            or self._division(configuration)
            or self._strategy(configuration)
        )

    def _permission(self, configuration: Configuration) -> Rule | None:
        asynchronous = strategy(configuration.strategy).asynchronous
        refused = asynchronous and not self.options.allow_asynchronous
        return Rule(kind=RuleKind.ASYNCHRONOUS) if refused else None

    def _division(self, configuration: Configuration) -> Rule | None:
        batch = self.options.global_batch
        if batch and configuration.global_batch != batch:
            return Rule(kind=RuleKind.INDIVISIBLE_BATCH, figure=batch)
        return None

    def _batch(self, configuration: Configuration) -> Rule | None:
        batch, most = configuration.global_batch, self.options.max_global_batch
        if most and batch > most:
            return Rule(kind=RuleKind.BATCH_LIMIT, figure=most)
        if self.facts.examples is not None and batch > self.facts.examples:
            return Rule(kind=RuleKind.DATASET_TOO_SMALL, figure=self.facts.examples)
        return None

    def _epoch(self, configuration: Configuration) -> Rule | None:
        if self.facts.examples is None:
            return None
        steps = self.facts.examples // configuration.global_batch
        if configuration.steps_per_execution > max(steps, 1):
            return Rule(kind=RuleKind.EPOCH_TOO_SHORT)
        return None

    def _cache(self, configuration: Configuration) -> Rule | None:
        facts = self.facts
        if configuration.cache == "off":
            return None
        if not facts.repeatable:
            return Rule(kind=RuleKind.UNREPEATABLE_CACHE)
        if facts.examples is None:
            return Rule(kind=RuleKind.UNCOUNTED_CACHE)
        size = facts.examples * facts.example_bytes * configuration.workers
        if size > CACHE_SHARE * self.machine.least.memory:
            return Rule(kind=RuleKind.CACHE_TOO_LARGE, figure=size)
        return None

    def _hardware(self, configuration: Configuration) -> Rule | None:
        cores = self.machine.least.cpus
        if configuration.threads_per_process > cores:
            return Rule(kind=RuleKind.TOO_MANY_THREADS, figure=cores)
        if configuration.precision == "mixed_float16" and not self.machine.gpus:
            return Rule(kind=RuleKind.FLOAT16_WITHOUT_GPU)
        return None

    def _strategy(self, configuration: Configuration) -> Rule | None:
        if configuration.strategy != "one_device" and not configuration.distributed:
            return Rule(kind=RuleKind.ONE_REPLICA)
        mine = strategy(configuration.strategy)
        text = mine.why_illegal(configuration, self.machine, self.facts)
        return Rule(kind=RuleKind.STRATEGY, text=text) if text else None
