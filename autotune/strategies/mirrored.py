"""MirroredStrategy: several devices of one process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from autotune.config import Configuration, Reduction
from autotune.machine import Machine
from autotune.strategies._base import SPLIT_CPU, Setup, Strategy, Training, named, too_few
from autotune.workload import WorkloadFacts

_OPERATIONS: Mapping[Reduction, str] = {
    "one_device": "ReductionToOneDevice",
    "hierarchical": "HierarchicalCopyAllReduce",
    "nccl": "NcclAllReduce",
}
_GPU_NOTE = (
    "Each GPU holds a copy of the model and processes its share of every batch. The gradients "
    "are all-reduced after each step, so all copies stay identical."
)
_CPU_NOTE = (
    "Each logical CPU holds a copy of the model and processes its share of every batch. The "
    "gradients are all-reduced after each step, so all copies stay identical. Logical CPUs share "
    "the physical cores, so this pays only if a single replica cannot keep all cores busy."
)


class Mirrored(Strategy):
    """One copy of the model per GPU, or per logical CPU where there are no GPUs."""

    name = "mirrored"
    title = "MirroredStrategy"
    doc = "Synchronous training on several devices of one process."
    axes: ClassVar[frozenset[str]] = frozenset({"replicas_per_worker", "reduction"})
    reductions = ("default", "one_device", "hierarchical", "nccl")

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        if configuration.workers > 1:
            return (
                "MirroredStrategy trains in one process; use multi_worker_mirrored for several "
                "workers."
            )
        if configuration.replicas_per_worker < 2:
            return (
                "MirroredStrategy needs at least 2 replicas; with one it only adds overhead to "
                "one_device."
            )
        if configuration.xla:
            return (
                "XLA compiles for one device, but the variables of MirroredStrategy are on "
                f"{configuration.replicas_per_worker} devices of the same process."
            )
        return too_few(configuration, machine) or self.why_no_reduction(configuration, machine)

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        if machine.gpus:
            return Setup(lines=_strategy("GPU", configuration.reduction), note=_GPU_NOTE)
        lines = (*SPLIT_CPU, *_strategy("CPU", configuration.reduction))
        return Setup(lines=lines, note=_CPU_NOTE)

    def training(self, configuration: Configuration, facts: WorkloadFacts) -> Training:
        # Its own loop over several steps cannot hold the collectives of the default reduction,
        # and to learn the shapes it averages a batch of all replicas, which texts and rows of any
        # length do not allow. A model with nothing but a train_step it cannot build at all.
        collectives = configuration.reduction == "default"
        looped = configuration.steps_per_execution > 1 and collectives
        odd = "tf.string" in facts.element or "RaggedTensorSpec" in facts.element
        return "loop" if looped or odd or facts.only_steps else "fit"


def _strategy(kind: str, reduction: Reduction) -> tuple[str, ...]:
    devices = named(kind)
    if reduction == "default":
        return (devices, "return tf.distribute.MirroredStrategy(devices)")
    return (
        devices,
        f"add_up = tf.distribute.{_OPERATIONS[reduction]}()",
        "return tf.distribute.MirroredStrategy(devices, cross_device_ops=add_up)",
    )


STRATEGY = Mirrored()
