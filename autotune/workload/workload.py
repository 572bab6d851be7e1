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
    def factories(self) -> dict[str, Factory]:
        """The factories by their names in the program."""
        roles = {"model_fn": self.model, "dataset_fn": self.dataset, "callbacks_fn": self.callbacks}
        return {role: factory for role, factory in roles.items() if factory is not None}

    @property
    def name(self) -> str:
        """A short name for people."""
        return self.model.short_name

    @property
    def identity(self) -> str:
        """Equal for the same factories, with the same code and arguments. Twelve hex digits."""
        callbacks = self.callbacks.identity if self.callbacks else ""
        return _digest(self.model.identity, self.dataset.identity, callbacks)

    def fingerprint(self, facts: WorkloadFacts) -> str:
        """Equal for the same factories, model size and examples. Twelve hex digits."""
        # What follows from the code is in the identity already.
        follows = {"python_input", "automatic"}
        return _digest(self.identity, facts.model_dump_json(exclude=follows))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
