"""The configuration in words, for the head of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autotune.config import AxisRole, Configuration, axes, axes_of
from autotune.script.text import WIDTH, count, literal
from autotune.strategies import strategy
from autotune.value import Scalar


def in_words(configuration: Configuration) -> list[str]:
    """Return a line for the strategy, one for the batch, and one per axis that was changed."""
    return [*_distribution(configuration), *_settings(configuration)]


def own_values(configuration: Configuration) -> list[str]:
    """Return a comment for each axis of the user's own, cut to the width."""
    lines = [f"# - {name} = {literal(value)}" for name, value in configuration.own_values().items()]
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


def _settings(configuration: Configuration) -> Iterator[str]:
    """Yield a line for each axis of the step, of what is computed, and of the input."""
    changed = configuration.changed()
    shards = [_SHARDS[configuration.shard_policy]] if configuration.workers > 1 else []
    for role in (AxisRole.STEP, AxisRole.NUMERICS, AxisRole.INPUT):
        yield from shards if role is AxisRole.INPUT else ()
        for name in axes_of(role):
            if name in changed and axes()[name].words:
                yield _in_words(name, changed[name])


def _in_words(name: str, value: Scalar) -> str:
    # It stands in a docstring, which no value may end.
    plain = re.fullmatch(r"[\w.+:/ -]*", str(value))
    return axes()[name].in_words(name, value) if plain else f"{name} is set"


_SHARDS = {
    "auto": "examples sharded by tf.data (auto)",
    "data": "every worker reads all examples and keeps its shard",
    "file": "input files sharded between the workers",
    "off": "every worker reads all examples",
    "source": "each worker reads only its own shard",
}
