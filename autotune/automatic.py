"""What tf.data's AUTOTUNE settled on where the input leaves a number to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from autotune.owner import Owner
from autotune.value import Value

Unit = Literal["parallel calls", "batches", "elements"]


_SINGULAR: Mapping[Unit, str] = {
    "parallel calls": "parallel call",
    "batches": "batch",
    "elements": "element",
}
AXES = (Owner.PREFETCH, Owner.NUM_PARALLEL_CALLS)
"""What a program can write as a number instead."""


class Choice(Value):
    """A number that AUTOTUNE chose for one stage of the input."""

    stage: str
    """Its name in TensorFlow's model of the input, such as `ParallelMapV2`."""
    parameter: str
    """What the number is to TensorFlow: `parallelism`, `buffer_size`."""
    value: int
    """As it was read last."""
    unit: Unit
    owner: Owner
    readings: tuple[int, ...] = ()
    """Every time it was read, oldest first."""
    worker: int = 0
    """Whose input it is; each worker has one of its own."""

    @property
    def moving(self) -> bool:
        """Whether it was another number when it was read the last time before."""
        return len(set(self.readings[-2:])) > 1

    @property
    def amount(self) -> str:
        """The value with its unit: `1 batch`, `4 parallel calls`."""
        return f"{self.value} {_SINGULAR[self.unit] if self.value == 1 else self.unit}"

    @property
    def title(self) -> str:
        """What people call the stage: `map`, `prefetch`; TensorFlow's name for anything else."""
        return kind_of(self.stage) or self.stage


class Automatic(Value):
    """What was read out of one run of the recommended program."""

    choices: tuple[Choice, ...] = ()
    """Worker by worker; in each from the last stage to the first."""
    seconds: float = 0.0
    """Of training, past its first call, before the last reading."""
    why_not: str = ""
    """Why nothing could be read, as a sentence; empty if something was."""

    def number(self, owner: Owner) -> int | None:
        """Return what a program can write for an axis: the largest of its stages and workers."""
        found = [each.value for each in self.of(owner)]
        return max(found) if found else None

    def of(self, *owners: Owner) -> tuple[Choice, ...]:
        """Return the choices of some owners."""
        return tuple(each for each in self.choices if each.owner in owners)


def kind_of(stage: str) -> str:
    """Return which of tf.data's methods makes a stage, or nothing for one that it has not.

    Args:
        stage: Its name in TensorFlow's model, with or without a version.
    """
    return _KINDS.get(stage.rstrip("0123456789").removesuffix("V"), "")


_KINDS = {
    "Map": "map",
    "ParallelMap": "map",
    "Interleave": "interleave",
    "ParallelInterleave": "interleave",
    "Batch": "batch",
    "ParallelBatch": "batch",
    "Prefetch": "prefetch",
}
