"""One device: no distribution, the baseline for everything else."""

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies._base import Setup, Strategy
from autotune.workload import WorkloadFacts


class OneDevice(Strategy):
    """TensorFlow's default strategy, which places one copy of the model on one device."""

    name = "one_device"
    title = "one device"
    doc = "Training on one device, the baseline for all other strategies."
    axes = frozenset[str]()

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        if configuration.distributed:
            return (
                f"one_device has one replica, not {configuration.replicas}; use mirrored or "
                "multi_worker_mirrored for more."
            )
        return self.why_no_reduction(configuration, machine)

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        return Setup(lines=("return tf.distribute.get_strategy()",))


STRATEGY = OneDevice()
