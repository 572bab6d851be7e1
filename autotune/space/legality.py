"""Which configurations can run on this machine with this workload, and why the others cannot.

What is special to a strategy is in its own file; here is what holds for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.strategies import strategy
from autotune.workload import WorkloadFacts

CACHE_SHARE = 0.25
"""Of the machine's memory, at most this share may hold cached examples."""
ASYNCHRONOUS = (
    "it trains asynchronously, which changes convergence; --allow-asynchronous "
    "(allow_asynchronous in Python and JSON) includes it"
)
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

    def why_illegal(self, configuration: Configuration) -> str | None:
        """Return the rule that a configuration breaks, as a sentence, or None if it can run."""
        return (
            self._permission(configuration)
            or self._division(configuration)
            or self._batch(configuration)
            or self._epoch(configuration)
            or self._cache(configuration)
            or self._hardware(configuration)
            or self._strategy(configuration)
        )

    def why_illegal_placement(self, configuration: Configuration) -> str | None:
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

    def _permission(self, configuration: Configuration) -> str | None:
        asynchronous = strategy(configuration.strategy).asynchronous
        return ASYNCHRONOUS if asynchronous and not self.options.allow_asynchronous else None

    def _division(self, configuration: Configuration) -> str | None:
        batch = self.options.global_batch
        if batch and configuration.global_batch != batch:
            return f"a global batch of {batch} is not divisible by the number of replicas"
        return None

    def _batch(self, configuration: Configuration) -> str | None:
        batch, most = configuration.global_batch, self.options.max_global_batch
        if most and batch > most:
            return f"the global batch would exceed max_global_batch {most}"
        if self.facts.examples is not None and batch > self.facts.examples:
            return (
                f"the global batch would exceed the {self.facts.examples} examples of the dataset"
            )
        return None

    def _epoch(self, configuration: Configuration) -> str | None:
        if self.facts.examples is None:
            return None
        steps = self.facts.examples // configuration.global_batch
        if configuration.steps_per_execution > max(steps, 1):
            return "an epoch has fewer steps than steps_per_execution"
        return None

    def _cache(self, configuration: Configuration) -> str | None:
        facts = self.facts
        if configuration.cache == "off":
            return None
        if not facts.repeatable:
            return "a cache would change the training: the dataset differs in every pass"
        if facts.examples is None:
            return "the number of examples is unknown, so a cache may never fill"
        size = facts.examples * facts.example_bytes * configuration.workers
        if size > CACHE_SHARE * self.machine.memory:
            return f"the examples take {size / 2**30:.1f} GiB, too much to cache in memory"
        return None

    def _hardware(self, configuration: Configuration) -> str | None:
        if configuration.threads_per_process > self.machine.cpus:
            return f"more threads per process than cores ({self.machine.cpus})"
        if configuration.precision == "mixed_float16" and not self.machine.gpus:
            return "float16 is fast only on GPUs, and TensorFlow sees none"
        return None

    def _strategy(self, configuration: Configuration) -> str | None:
        if configuration.strategy != "one_device" and not configuration.distributed:
            return "with one replica it is the same as one device"
        mine = strategy(configuration.strategy)
        return mine.why_illegal(configuration, self.machine, self.facts)
