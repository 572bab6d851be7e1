"""What a job needs of the worker that runs it, and whether a worker has that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field

from autotune.machine import Machine
from autotune.text import plural
from autotune.value import WHOLE, Described

Label = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._/=:-]{0,62}$")]
"""A word that an operator gives to workers: `nvlink`, `rack=7`."""


_IN_ORDER = AfterValidator(lambda labels: tuple(sorted(set(labels))))
# The bounds come first, so that the JSON schema has them.
Labels = Annotated[tuple[Label, ...], Field(max_length=16), _IN_ORDER]


class Needs(Described):
    """What a worker must have; by default any will do."""

    devices: Annotated[int, Field(ge=1, le=4096), WHOLE] | None = None
    """Least number of devices: GPUs, TPU cores, or hosts that have neither."""
    kind: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$")] | None = None
    """What the name of each of them holds, in upper or lower case: `gpu`, `tpu`, `cpu`, `H100`."""
    labels: Labels = ()
    """Labels that the worker has."""

    def met_by(self, machine: Machine | None, labels: Iterable[str]) -> bool:
        """Return whether a worker has all of it; a machine that is not known has no devices."""
        if not set(self.labels) <= set(labels):
            return False
        if self.devices is None and self.kind is None:
            return True
        kind = (self.kind or "").lower()
        found = [each for each in _devices(machine) if kind in each.lower()]
        return len(found) >= (self.devices or 1)

    def __str__(self) -> str:
        parts = []
        if self.devices is not None or self.kind is not None:
            noun = f"{self.kind} device" if self.kind else "device"
            parts.append(f"at least {plural(self.devices or 1, noun)}")
        if self.labels:
            parts.append(f"labelled {', '.join(self.labels)}")
        return ", ".join(parts)


def _devices(machine: Machine | None) -> list[str]:
    if machine is None:
        return []
    accelerators = [f"GPU {name}" for name in machine.gpus] + ["TPU"] * machine.tpus
    return accelerators or ["CPU"] * len(machine.hosts)
