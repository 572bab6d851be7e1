"""The configuration in words, for the head of the program."""

from __future__ import annotations

from collections.abc import Iterator

from autotune.config import Configuration
from autotune.script.text import WIDTH, count, literal
from autotune.strategies import strategy


def in_words(configuration: Configuration) -> list[str]:
    """Return a line for the strategy, one for the batch, and one per axis that was changed."""
    return [*_distribution(configuration), *_steps(configuration), *_input(configuration)]


def own_values(configuration: Configuration) -> list[str]:
    """Return a comment for each axis of the user's own, cut to the width."""
    lines = [f"# - {name} = {literal(value)}" for name, value in configuration.arguments]
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines]


def _distribution(configuration: Configuration) -> Iterator[str]:
    title = strategy(configuration.strategy).title
    workers, each = configuration.workers, configuration.replicas_per_worker
    batch = count(configuration.per_replica_batch, "example")
    if not configuration.distributed:
        yield f"{title}, {batch} per step"
        return
    replicas = count(each, "replica")
    place = f"{count(workers, 'worker')} with {replicas} each" if workers > 1 else replicas
    yield f"{title}, {place}"
    if strategy(configuration.strategy).asynchronous:
        yield f"variables on {count(configuration.servers, 'parameter server')}"
        yield f"{batch} per step of a worker, asynchronous"
    else:
        yield f"{batch} per replica, so {configuration.global_batch:,} per step"
    if configuration.reduction != "default":
        yield f"gradients reduced by {literal(configuration.reduction)}"


def _steps(configuration: Configuration) -> Iterator[str]:
    if configuration.steps_per_execution > 1:
        yield f"{configuration.steps_per_execution} steps per execution"
    if configuration.xla:
        yield "compiled with XLA"
    if configuration.precision != "float32":
        yield f"dtype policy {configuration.precision}"
    if configuration.threads_per_process:
        yield f"at most {count(configuration.threads_per_process, 'intra-op thread')}"


def _input(configuration: Configuration) -> Iterator[str]:
    if configuration.workers > 1:
        yield _SHARDS[configuration.shard_policy]
    if configuration.cache == "memory":
        yield "examples cached in memory"
    if configuration.prefetch != "auto":
        yield f"{count(configuration.prefetch, 'batch', 'batches')} prefetched"
    if configuration.num_parallel_calls != "auto":
        yield f"{configuration.num_parallel_calls} parallel calls in dataset_fn"
    if configuration.private_threads:
        yield f"{count(configuration.private_threads, 'private thread')} for tf.data"


_SHARDS = {
    "auto": "examples sharded by tf.data (auto)",
    "data": "every worker reads all examples and keeps its shard",
    "file": "input files sharded between the workers",
    "off": "every worker reads all examples",
    "source": "each worker reads only its own shard",
}
