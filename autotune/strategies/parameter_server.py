"""ParameterServerStrategy: workers that train without waiting for each other."""

from autotune.base import Scalar
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.strategies._base import Role, Setup, Strategy, no_source, too_few, workers_per_host
from autotune.text import plural
from autotune.workload import WorkloadFacts

_NOTE = "Servers hold the variables, and each worker updates them without waiting for the others."


class ParameterServer(Strategy):
    """A chief that orders, workers that train, servers that hold the variables."""

    name = "parameter_server"
    title = "ParameterServerStrategy"
    doc = "Asynchronous training in several workers, with the variables on parameter servers."
    axes = frozenset({"workers", "servers", "shard_policy"})
    trains_by = "coordinator"
    """Keras 3's `fit` cannot feed the workers."""
    asynchronous = True

    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        if configuration.workers < 2:
            return (
                "ParameterServerStrategy needs at least 2 workers; with one it only adds "
                "overhead to one_device."
            )
        if configuration.servers < 1:
            return (
                "ParameterServerStrategy needs at least 1 parameter server; set `servers` in the "
                "space."
            )
        if configuration.servers > machine.cpus:
            return (
                f"TensorFlow sees {plural(machine.cpus, 'CPU core')}, too few for "
                f"{configuration.servers} parameter servers."
            )
        return (
            too_few(machine, workers_per_host(configuration.workers, machine), "worker")
            or _unsupported(configuration, facts)
            or self.why_no_reduction(configuration, machine)
            or _unsharded(configuration)
            or no_source(configuration, facts)
        )

    def fixed(self, machine: Machine) -> dict[str, Scalar]:
        return {"replicas_per_worker": 1}

    def setup(self, configuration: Configuration, machine: Machine) -> Setup:
        return Setup(
            lines=(
                "cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()",
                "return tf.distribute.ParameterServerStrategy(cluster)",
            ),
            note=_NOTE,
        )

    def roles(self, configuration: Configuration, machine: Machine) -> tuple[Role, ...]:
        """Return the chief, whose steps are timed, then workers with a GPU each, then servers."""
        none: tuple[int, ...] | None = () if machine.gpus else None
        servers = (
            Role(kind="ps", index=index, host=index % len(machine.hosts), gpus=none)
            for index in range(configuration.servers)
        )
        workers = super().roles(configuration, machine)
        return (Role(kind="chief", gpus=none), *workers, *servers)


def _unsupported(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    if configuration.replicas_per_worker > 1:
        return "autotune runs ParameterServerStrategy with one replica per worker."
    if configuration.xla:
        return "XLA cannot compile a step with variables in other processes."
    if configuration.cache == "file":
        return "The chief cannot say where each worker keeps a file."
    if facts.fit:
        return "The data of a script are in the chief, which cannot send them to the workers."
    if facts.python_input:
        return (
            "The input runs Python code (from_generator, py_function or numpy_function), which "
            "the chief cannot send to the workers: training would hang."
        )
    return None


def _unsharded(configuration: Configuration) -> str | None:
    """Return why the shard policy does not give every worker its own share of the examples."""
    policy = configuration.shard_policy
    if policy in ("data", "source"):
        return None
    return (
        "TensorFlow does not shard the input for ParameterServerStrategy, so shard policy "
        f"{policy!r} has no effect; use data or source."
    )


STRATEGY = ParameterServer()
