"""TPUStrategy: the cores of a TPU. Written from TensorFlow's documentation, never run on a TPU."""

from __future__ import annotations

from typing import ClassVar

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies._base import Setup, Strategy
from autotune.workload import WorkloadFacts


class TPU(Strategy):
    """One copy of the model per TPU core. It was never run on a TPU."""

    name = "tpu"
    title = "TPUStrategy"
    doc = "Trains a copy of the model on every core of a TPU."
    axes: ClassVar[frozenset[str]] = frozenset({"replicas_per_worker"})

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        """Return a reason if there is no TPU, or if not all of its cores are used."""
        del facts
        if not machine.tpus:
            return "TensorFlow sees no TPU on this machine."
        if configuration.workers > 1:
            return "TPUStrategy drives all cores of the TPU from one process."
        if configuration.replicas_per_worker != machine.tpus:
            return (
                f"TPUStrategy trains on all {machine.tpus} cores of this TPU, "
                f"not on {configuration.replicas_per_worker}."
            )
        if configuration.precision == "mixed_float16":
            return "TPUs compute in bfloat16; write mixed_bfloat16."
        return self.why_no_reduction(configuration, machine)

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        """Return the strategy over the TPU that the environment names."""
        del configuration, machine
        return Setup(
            lines=(
                "resolver = tf.distribute.cluster_resolver.TPUClusterResolver()",
                "tf.config.experimental_connect_to_cluster(resolver)",
                "tf.tpu.experimental.initialize_tpu_system(resolver)",
                "return tf.distribute.TPUStrategy(resolver)",
            ),
            note="Each TPU core holds a copy of the model and takes its share of every batch. The "
            "TPU is found through the variable TPU_NAME, or by itself on a TPU host.",
        )


STRATEGY = TPU()
