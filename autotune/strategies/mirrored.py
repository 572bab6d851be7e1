"""MirroredStrategy: several devices of one process."""

from collections.abc import Mapping

from autotune.config import Configuration, Reduction
from autotune.machine import Machine
from autotune.strategies._base import Setup, Strategy, Training, too_few
from autotune.workload import WorkloadFacts

OPERATIONS: Mapping[Reduction, str] = {
    "one_device": "ReductionToOneDevice",
    "hierarchical": "HierarchicalCopyAllReduce",
    "nccl": "NcclAllReduce",
}
_NOTE = "A copy of the model on each device; their gradients are added up after each step."


class Mirrored(Strategy):
    """One copy of the model per GPU, or per logical CPU where there are no GPUs."""

    name = "mirrored"
    title = "MirroredStrategy"
    doc = "Synchronous training on several devices of one process."
    axes = frozenset({"replicas_per_worker", "reduction"})
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
        few = too_few(machine, configuration.replicas_per_worker, "replica")
        return few or self.why_no_reduction(configuration, machine)

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        on_gpus = '[f"GPU:{index}" for index in range(REPLICAS)]'
        lines = [f"devices = {on_gpus if machine.gpus else 'logical_cpus(REPLICAS)'}"]
        if configuration.reduction == "default":
            lines.append("return tf.distribute.MirroredStrategy(devices)")
        else:
            lines += [
                f"add_up = tf.distribute.{OPERATIONS[configuration.reduction]}()",
                "return tf.distribute.MirroredStrategy(devices, cross_device_ops=add_up)",
            ]
        return Setup(lines=tuple(lines), note=_NOTE)

    def training(self, configuration: Configuration, facts: WorkloadFacts) -> Training:
        # Its own loop over several steps cannot hold the collectives of the default reduction,
        # and to learn the shapes it averages a batch of all replicas, which texts and rows of any
        # length do not allow. A model with nothing but a train_step it cannot build at all.
        collectives = configuration.reduction == "default"
        looped = configuration.steps_per_execution > 1 and collectives
        odd = "tf.string" in facts.element or "RaggedTensorSpec" in facts.element
        return "loop" if looped or odd or facts.only_steps else "fit"


STRATEGY = Mirrored()
