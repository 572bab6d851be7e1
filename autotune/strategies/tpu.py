"""TPUStrategy: the cores of a TPU. Written from TensorFlow's documentation, never run on a TPU."""

from autotune.base import Scalar
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies._base import Setup, Strategy
from autotune.workload import WorkloadFacts


class TPU(Strategy):
    """One copy of the model per TPU core. It was never run on a TPU."""

    name = "tpu"
    title = "TPUStrategy"
    doc = "Synchronous training on all cores of a TPU."
    axes = frozenset({"replicas_per_worker"})

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        if not machine.tpus:
            return "TensorFlow sees no TPU on this machine."
        if configuration.workers > 1:
            return "TPUStrategy uses all cores of the TPU from one process."
        if configuration.replicas_per_worker != machine.tpus:
            return (
                f"TPUStrategy trains on all {machine.tpus} cores of this TPU, "
                f"not on {configuration.replicas_per_worker}."
            )
        return _uncomputable(configuration, facts) or self.why_no_reduction(configuration, machine)

    def fixed(self, machine: Machine) -> dict[str, Scalar]:
        """Return one replica per core: TPUStrategy takes all of them; most hosts have eight."""
        return {"replicas_per_worker": machine.tpus or 8}

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        return Setup(
            lines=(
                'name = os.environ.get("TPU_NAME", "local")',
                "resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)",
                "tf.config.experimental_connect_to_cluster(resolver)",
                "tf.tpu.experimental.initialize_tpu_system(resolver)",
                "return tf.distribute.TPUStrategy(resolver)",
            ),
            modules=("os",),
            note="TPU_NAME names the TPU; never tested on one, but written from the documentation.",
        )


def _uncomputable(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    if configuration.precision == "mixed_float16":
        return "TPUs compute in bfloat16; use mixed_bfloat16."
    if configuration.xla:
        return "TPUStrategy always compiles with XLA; turn xla off."
    if "tf.string" in facts.element:
        return "TPUs do not support strings; convert them to numbers in the dataset."
    return None


STRATEGY = TPU()
