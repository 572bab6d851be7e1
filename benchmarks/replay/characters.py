"""The workloads of the replay tables: what each stands for, and the space that is swept."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autotune.options import SearchOptions
from autotune.space import Space, parse_space
from autotune.workload import Workload, factory_from_text

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = Path(__file__).parent / "workloads"


@dataclass(frozen=True, kw_only=True)
class Character:
    """A workload with a character of its own.

    Attributes:
        name: Of its file, and of its table.
        what: What limits it.
        strategies: Those that are swept.
        axes: The values that are swept.
        constraints: What the user holds fixed.
        unseen: Whether its table is held out: neither a value nor a rule of the search
            was compared on it.
    """

    name: str
    what: str
    strategies: tuple[str, ...] = ("one_device", "mirrored", "multi_worker_mirrored")
    axes: dict[str, list[Any]]
    constraints: SearchOptions = field(default_factory=SearchOptions)
    unseen: bool = False

    @property
    def space(self) -> Space:
        """The space, with two replicas or two workers."""
        pair = {"replicas_per_worker": [2], "workers": [2]}
        given = {"name": self.name, "strategies": self.strategies, "axes": {**pair, **self.axes}}
        return parse_space(given, where=self.name)

    @property
    def workload(self) -> Workload:
        """Its factories."""
        own = OWN / f"{self.name}.py"
        path = own if own.exists() else EXAMPLES / f"{self.name}.py"
        return Workload(
            model=factory_from_text(f"{path}:model_fn", {}),
            dataset=factory_from_text(f"{path}:dataset_fn", {}),
        )


CHARACTERS = (
    Character(
        name="python_input",
        what="input-bound by Python code; distribution wins",
        axes={
            "per_replica_batch": [16, 32, 64, 128],
            "steps_per_execution": [1, 4],
            "private_threadpool_size": [0, 16],
            "reduction": ["one_device"],
            "shard_policy": ["source", "data"],
        },
    ),
    Character(
        name="tfrecords",
        what="input-bound by reading and parsing files",
        axes={
            "per_replica_batch": [32, 128],
            "steps_per_execution": [1, 8],
            "num_parallel_calls": ["auto", 4],
            "private_threadpool_size": [0, 16],
            "reduction": ["one_device"],
            "shard_policy": ["file", "data"],
        },
    ),
    Character(
        name="augment",
        what="input-bound by computation",
        axes={
            "per_replica_batch": [32, 128],
            "steps_per_execution": [1, 4],
            "num_parallel_calls": ["auto", 1, 4, 16],
            "private_threadpool_size": [0, 16],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
        strategies=("one_device", "mirrored"),
    ),
    Character(
        name="latency",
        what="input-bound by waiting for a store",
        axes={
            "per_replica_batch": [16, 64],
            "steps_per_execution": [1, 4],
            "num_parallel_calls": ["auto", 1, 4, 16],
            "private_threadpool_size": [0, 16],
            "reduction": ["one_device"],
        },
        strategies=("one_device", "mirrored"),
    ),
    Character(
        name="paced",
        what="bound by a source with a fixed rate: nothing differs",
        axes={
            "per_replica_batch": [16, 32],
            "steps_per_execution": [1, 2],
            "private_threadpool_size": [0, 16],
            "prefetch": ["auto", 0],
            "reduction": ["one_device", "default"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="conv",
        what="compute-bound at a fixed global batch, whose halves use the cores badly",
        axes={
            "per_replica_batch": [128, 256],
            "steps_per_execution": [1, 2, 3, 4],
            "prefetch": ["auto", 0],
            "private_threadpool_size": [0, 16],
            "reduction": ["one_device", "default", "hierarchical"],
        },
        strategies=("one_device", "mirrored"),
        constraints=SearchOptions(global_batch=256),
    ),
    Character(
        name="embedding",
        what="embedding-heavy",
        axes={
            "per_replica_batch": [64, 256, 1024],
            "steps_per_execution": [1, 8],
            "cache": ["off", "memory"],
            "private_threadpool_size": [0, 16],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="wide_dense",
        what="many parameters",
        axes={
            "per_replica_batch": [64, 256, 1024],
            "steps_per_execution": [1, 4],
            "cache": ["off", "memory"],
            "intra_op_parallelism_threads": [0, 1],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="lstm",
        what="recurrent, at a fixed global batch; distribution wins",
        axes={
            "per_replica_batch": [256, 512],
            "steps_per_execution": [1, 2, 4, 8],
            "prefetch": ["auto", 0],
            "private_threadpool_size": [0, 2],
            "reduction": ["one_device", "default", "hierarchical"],
        },
        strategies=("one_device", "mirrored"),
        constraints=SearchOptions(global_batch=512),
    ),
    Character(
        name="small_steps",
        what="bound by the overhead of each step",
        axes={
            "per_replica_batch": [32, 128, 512],
            "steps_per_execution": [1, 8, 32],
            "private_threadpool_size": [0, 16],
            "cache": ["off", "memory"],
            "prefetch": ["auto", 0],
            "reduction": ["one_device", "default"],
        },
        strategies=("one_device", "mirrored"),
    ),
    Character(
        name="gru",
        what="recurrent, on short series",
        axes={
            "per_replica_batch": [32, 128, 512],
            "steps_per_execution": [1, 8],
            "cache": ["off", "memory"],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="ratings",
        what="a recommender whose input is parsed from text",
        axes={
            "per_replica_batch": [64, 512, 4096],
            "steps_per_execution": [1, 16],
            "num_parallel_calls": ["auto", 1],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="segments",
        what="convolutions that keep the size of images, which are flipped at random",
        axes={
            "per_replica_batch": [8, 32, 128],
            "steps_per_execution": [1, 4],
            "private_threadpool_size": [0, 2],
            "prefetch": ["auto", 0],
            "reduction": ["one_device"],
        },
        strategies=("one_device", "mirrored"),
    ),
    Character(
        name="attention",
        what="a text classifier with attention",
        axes={
            "per_replica_batch": [16, 64, 256],
            "steps_per_execution": [1, 8],
            "cache": ["off", "memory"],
            "private_threadpool_size": [0, 2],
            "reduction": ["one_device"],
        },
        strategies=("one_device", "mirrored"),
    ),
    Character(
        name="columns",
        what="many small features, from a table of columns",
        axes={
            "per_replica_batch": [32, 256, 2048],
            "steps_per_execution": [1, 8],
            "cache": ["off", "memory"],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="denoise",
        what="an autoencoder whose input is augmented anew in each epoch",
        axes={
            "per_replica_batch": [32, 128, 512],
            "steps_per_execution": [1, 4],
            "num_parallel_calls": ["auto", 1],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
    ),
    Character(
        name="forecast",
        what="dilated convolutions on windows that are cut from a series",
        axes={
            "per_replica_batch": [32, 128, 512],
            "steps_per_execution": [1, 8],
            "num_parallel_calls": ["auto", 1],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
        unseen=True,
    ),
    Character(
        name="tagging",
        what="a bidirectional recurrence over padded sentences",
        axes={
            "per_replica_batch": [16, 64, 256],
            "steps_per_execution": [1, 4],
            "private_threadpool_size": [0, 2],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
        unseen=True,
    ),
    Character(
        name="pictures",
        what="a small classifier whose images are decoded, unless they are cached",
        axes={
            "per_replica_batch": [16, 64, 128],
            "steps_per_execution": [1, 4],
            "num_parallel_calls": ["auto", 1],
            "cache": ["off", "memory"],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
        unseen=True,
    ),
    Character(
        name="towers",
        what="two embeddings, whose gradients are sparse, on shuffled pairs",
        axes={
            "per_replica_batch": [32, 128, 512, 2048, 4096, 8192],
            "steps_per_execution": [1, 4, 16],
            "private_threadpool_size": [0, 16],
            "prefetch": ["auto", 0],
            "reduction": ["one_device", "default"],
        },
        strategies=("one_device", "mirrored"),
    ),
    Character(
        name="sensors",
        what="dense layers on short recordings that are scaled as they are read",
        axes={
            "per_replica_batch": [32, 128, 512, 1024, 2048],
            "steps_per_execution": [1, 4, 16],
            "cache": ["off", "memory"],
            "prefetch": ["auto", 0],
            "intra_op_parallelism_threads": [0, 1],
            "reduction": ["one_device"],
        },
        strategies=("one_device", "mirrored"),
        unseen=True,
    ),
    Character(
        name="speech",
        what="two recurrences, one after the other, on recordings",
        axes={
            "per_replica_batch": [32, 128, 512],
            "steps_per_execution": [1, 8],
            "cache": ["off", "memory"],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
        unseen=True,
    ),
    Character(
        name="claims",
        what="dense layers on numbers and categories",
        axes={
            "per_replica_batch": [64, 512, 4096],
            "steps_per_execution": [1, 16],
            "private_threadpool_size": [0, 2],
            "reduction": ["one_device"],
            "shard_policy": ["data"],
        },
        unseen=True,
    ),
    Character(
        name="residual",
        what="a deep residual network, which takes long to trace",
        axes={
            "per_replica_batch": [16, 64, 256],
            "steps_per_execution": [1, 4],
            "num_parallel_calls": ["auto", 1],
            "reduction": ["one_device"],
        },
        strategies=("one_device", "mirrored"),
        unseen=True,
    ),
)


def character(name: str) -> Character:
    """Return the character of a name.

    Raises:
        SystemExit: There is none.
    """
    for each in CHARACTERS:
        if each.name == name:
            return each
    raise SystemExit(f"{name} is none of {', '.join(c.name for c in CHARACTERS)}.")
