"""CentralStorageStrategy: several devices of one process, the variables on one of them.

It is refused, because Keras 3 and it do not go together; the reason was found by running it, and a
test runs the program again to see whether it still holds.
"""

from __future__ import annotations

from typing import ClassVar

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies._base import Setup, Strategy, devices
from autotune.workload import WorkloadFacts

WRONG = (
    "With CentralStorageStrategy, Keras 3 reports wrong losses and metrics and cannot update the "
    "state of dropout and batch normalization; mirrored with reduction one_device does the same "
    "work."
)
"""Keras updates each metric in every replica, and the strategy adds up the results: the old value
counts once for each replica. Variables that say nothing of how to add up cannot be updated."""
_NOTE = "Each device computes on its share of a batch; the variables are in the host's memory."


class CentralStorage(Strategy):
    """One set of variables, read by each GPU, or by each logical CPU where there are no GPUs."""

    name = "central_storage"
    title = "CentralStorageStrategy"
    doc = "Synchronous training on several devices of one process, with the variables on the CPU."
    axes: ClassVar[frozenset[str]] = frozenset({"replicas_per_worker"})
    trains_by = "loop"
    """It trains right where Keras 3's `fit` does too."""

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        return WRONG

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        return Setup(lines=_strategy("GPU" if machine.gpus else "CPU"), note=_NOTE)


def _strategy(kind: str) -> tuple[str, ...]:
    return (
        devices(kind),
        "return tf.distribute.experimental.CentralStorageStrategy(",
        '    compute_devices=devices, parameter_device="CPU:0"',
        ")",
    )


STRATEGY = CentralStorage()
