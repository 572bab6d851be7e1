"""A model factory and a dataset factory, and what belongs to them."""

from __future__ import annotations

import hashlib

from autotune.value import Value
from autotune.workload.factory import Factory
from autotune.workload.facts import WorkloadFacts


class Workload(Value):
    """What the user wants to train."""

    model: Factory
    dataset: Factory
    callbacks: Factory | None = None
    """Gives a list of Keras callbacks, called once per process."""

    @property
    def name(self) -> str:
        """A short name for people."""
        return self.model.short_name

    def fingerprint(self, facts: WorkloadFacts) -> str:
        """Equal for the same factories, arguments, model size and examples. Twelve hex digits."""
        parts = [self.model.identity, self.dataset.identity, facts.model_dump_json()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
