"""What a strategy is, and what several of them share.

Adding one is adding a file to this folder, or an entry point.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from autotune.axis import AxisRole
from autotune.base import Scalar, Value
from autotune.config import Configuration, Reduction, axes_of
from autotune.machine import Machine
from autotune.text import plural
from autotune.workload import WorkloadFacts

Training = Literal["fit", "loop", "coordinator"]
"""How the program trains: `Model.fit`, a loop of its own inside a `tf.function`, or such a loop in
each worker under the orders of a `ClusterCoordinator`."""


class Setup(Value):
    """A strategy's part of the program."""

    lines: tuple[str, ...]
    """Body of `make_strategy()`, formatted, without its indentation; ends with a return."""
    modules: tuple[str, ...] = ()
    """What the lines use beside TensorFlow."""
    note: str = ""
    """What a reader who does not know this strategy should know, in one sentence."""


class Role(Value):
    """One process of a training; where it is the only one, it needs no TF_CONFIG."""

    kind: str = "worker"
    """The task type of `tf.train.ClusterSpec`: worker, chief, ps."""
    index: int = 0
    host: int = 0
    """Position of its host in `Machine.hosts`."""
    gpus: tuple[int, ...] | None = None
    """Indices of its host's GPUs that this process may see; None leaves it to TensorFlow."""

    @property
    def name(self) -> str:
        """What to call it: `worker 1`."""
        return f"{'server' if self.kind == 'ps' else self.kind} {self.index}"


def tf_config(roles: Sequence[Role], addresses: Sequence[str], mine: Role) -> str:
    """Return the TF_CONFIG of one of all processes, which have each an address `host:port`."""
    cluster: dict[str, list[str]] = {}
    for role, address in zip(roles, addresses, strict=True):
        cluster.setdefault(role.kind, []).append(address)
    return json.dumps({"cluster": cluster, "task": {"type": mine.kind, "index": mine.index}})


class Strategy(ABC):
    """Everything that is special to one `tf.distribute` strategy.

    A module of this folder holds one as `STRATEGY`; another package declares one as an entry point
    of the group `autotune.strategies`. Instances hold no state.
    """

    name: ClassVar[str]
    """As in spaces and configurations; equal to the name of the file or of the entry point."""
    title: ClassVar[str]
    """As people say it: `MirroredStrategy`."""
    doc: ClassVar[str]
    """One sentence: what it does."""
    axes: ClassVar[frozenset[str]]
    """Fields of the role placement that mean something here; every strategy has all others."""
    asynchronous: ClassVar[bool] = False
    """Whether replicas do not wait for each other. That changes the training, so it may win only
    where the user allows it."""
    trains_by: ClassVar[Training] = "fit"
    """Unless `training` says otherwise."""
    reductions: ClassVar[tuple[Reduction, ...]] = ("default",)
    """Reductions that exist here, TensorFlow's choice first."""

    def has(self, axis: str) -> bool:
        return axis in self.axes or axis == "strategy" or axis not in axes_of(AxisRole.PLACEMENT)

    @abstractmethod
    def why_illegal(
        self, configuration: Configuration, machine: Machine, facts: WorkloadFacts
    ) -> str | None:
        """Return why the configuration cannot run here, as a sentence, or None if it can."""

    def fixed(self, machine: Machine) -> dict[str, Scalar]:
        """Return the axes that have one value only on this machine, whatever a space says."""
        return {}

    @abstractmethod
    def setup(self, configuration: Configuration, machine: Machine) -> Setup: ...

    def training(self, configuration: Configuration, facts: WorkloadFacts) -> Training:
        return self.trains_by

    def roles(self, configuration: Configuration, machine: Machine) -> tuple[Role, ...]:
        """Return the processes that train together: workers, which fill one host after the other.

        None sees more GPUs than it trains on: TensorFlow takes the memory of all that it sees.
        """
        each = configuration.replicas_per_worker
        share = workers_per_host(configuration.workers, machine)
        firsts = [index % share * each for index in range(configuration.workers)]
        return tuple(
            Role(
                index=index,
                host=index // share,
                gpus=tuple(range(first, first + each)) if machine.gpus else None,
            )
            for index, first in enumerate(firsts)
        )

    def why_no_reduction(self, configuration: Configuration, machine: Machine) -> str | None:
        chosen = configuration.reduction
        if chosen not in self.reductions:
            known = ", ".join(self.reductions)
            return f"{self.title} has no reduction {chosen!r}; choose from {known}."
        if chosen == "nccl" and not machine.gpus:
            return "Reduction 'nccl' needs GPUs, and TensorFlow sees none."
        return None


def workers_per_host(workers: int, machine: Machine) -> int:
    """Return how many workers share a host: they fill one after the other."""
    return math.ceil(workers / len(machine.hosts))


def too_few(machine: Machine, wanted: int, noun: str) -> str | None:
    """Return why a host has no device for each of so many replicas or workers on it, if so."""
    least, where = machine.least, " on a host" if len(machine.hosts) > 1 else ""
    has, device = (len(least.gpus), "GPU") if machine.gpus else (least.cpus, "CPU core")
    if wanted <= has:
        return None
    return f"TensorFlow sees {plural(has, device)}, too few for {plural(wanted, noun)}{where}."


def no_source(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return why the dataset factory cannot shard the examples itself, if that is asked of it."""
    if configuration.shard_policy != "source" or "input_context" in facts.dataset_takes:
        return None
    return (
        "Shard policy 'source' needs a dataset factory with a parameter `input_context` that reads "
        "only its own shard."
    )
