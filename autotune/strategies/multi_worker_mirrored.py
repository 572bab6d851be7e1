"""MultiWorkerMirroredStrategy: several processes that exchange gradients."""

from autotune.base import Scalar
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies._base import Setup, Strategy, no_source, too_few, workers_per_host
from autotune.text import plural
from autotune.workload import WorkloadFacts

_NOTE = "It reads the workers' addresses from TF_CONFIG, and waits here until all have started."


class MultiWorkerMirrored(Strategy):
    """A group of equal workers, each with its own input and its own copies of the model."""

    name = "multi_worker_mirrored"
    title = "MultiWorkerMirroredStrategy"
    doc = "Synchronous training in several processes, on one machine or on many."
    axes = frozenset({"workers", "replicas_per_worker", "reduction", "shard_policy"})
    trains_by = "loop"
    """Keras 3's `fit` fails with several workers (keras-team/keras#20585)."""
    reductions = ("default", "ring", "nccl")

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        if configuration.workers < 2:
            return (
                "MultiWorkerMirroredStrategy needs at least 2 workers; use one_device or "
                "mirrored to train in one process."
            )
        workers = workers_per_host(configuration.workers, machine)
        each = configuration.replicas_per_worker
        return (
            _beyond_cpus(configuration, machine)
            or too_few(machine, workers * each, "replica" if each > 1 else "worker")
            or self.why_no_reduction(configuration, machine)
            or no_source(configuration, facts)
            or _unsharded(configuration, facts)
        )

    def fixed(self, machine: Machine) -> dict[str, Scalar]:
        """Return one replica per worker on CPUs: TensorFlow makes no more there."""
        return {} if machine.gpus else {"replicas_per_worker": 1}

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        if configuration.reduction == "default":
            return Setup(lines=("return tf.distribute.MultiWorkerMirroredStrategy()",), note=_NOTE)
        kind = f"kinds.{configuration.reduction.upper()}"
        lines = (
            "kinds = tf.distribute.experimental.CommunicationImplementation",
            f"options = tf.distribute.experimental.CommunicationOptions(implementation={kind})",
            "return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)",
        )
        return Setup(lines=lines, note=_NOTE)


def _beyond_cpus(configuration: Configuration, machine: Machine) -> str | None:
    if machine.gpus:
        return None
    if configuration.replicas_per_worker > 1:
        return "On CPUs MultiWorkerMirroredStrategy has exactly one replica per worker."
    if configuration.xla:
        return "XLA cannot compile collectives between CPU workers."
    return None


def _unsharded(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return why the shard policy does not give every worker its own share of the examples."""
    policy, workers = configuration.shard_policy, configuration.workers
    files, counted = plural(facts.file_shards, "file"), facts.certain("file_shards") is not None
    if policy == "off":
        by_itself = "input_context" in facts.dataset_takes
        remedy = "write source" if by_itself else "use data, or declare `input_context`"
        return f"With shard policy 'off' every worker reads all examples; {remedy}."
    if policy == "file" and counted and not facts.file_shards:
        return "The input does not come from files, so it cannot be sharded by file."
    if policy == "file" and facts.file_shards < workers:
        found = f"The input comes from {files}" if counted else f"Only {files} were counted in time"
        return f"{found}, too few to shard by file between {workers} workers."
    if policy == "auto" and 0 < facts.file_shards < workers:
        return (
            f"Shard policy 'auto' shards this input by file: with {files}, some of "
            f"{workers} workers get empty batches; use data."
        )
    return None


STRATEGY = MultiWorkerMirrored()
