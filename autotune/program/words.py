"""What a program says of itself to its reader."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from autotune.axis import AxisRole
from autotune.config import Configuration, axes, axes_of
from autotune.program.text import WIDTH, literal
from autotune.strategies import strategy
from autotune.text import plural
from autotune.value import Scalar
from autotune.workload import Factory, Workload, WorkloadFacts

PLAIN = r"[\w.+:/ -]*"
"""What may stand in a docstring, because it cannot end one."""
UNKNOWN_STEPS = 1000
"""Steps of an epoch where nobody knows how many examples there are."""


def epoch_in_words(configuration: Configuration, facts: WorkloadFacts) -> str | None:
    """Return in what an epoch of the program is not one of `fit`; None where it is one."""
    if facts.examples is None:
        return (
            f"{plural(UNKNOWN_STEPS, 'step')} an epoch, because the number of examples is not "
            "known: --steps-per-epoch sets another"
        )
    steps = math.ceil(facts.examples / configuration.global_batch)
    borrowed = steps * configuration.global_batch - facts.examples
    if borrowed and facts.batched and not facts.arrays:
        return (
            f"{plural(steps, 'step')} an epoch, all with full batches; examples at the end of the "
            "data that fill none are left out"
        )
    if borrowed:
        return (
            f"{plural(steps, 'step')} an epoch, the last of which takes "
            f"{plural(borrowed, 'example')} of the next epoch, because all batches are full"
        )
    if facts.fit and facts.fit.partial:
        return (
            f"{plural(steps, 'step')} an epoch, all with full batches, where the last one of the "
            "script may hold fewer examples"
        )
    return None


def in_words(
    configuration: Configuration, workload: Workload, facts: WorkloadFacts
) -> dict[str, object]:
    lines = [*_distribution(configuration), *_settings(configuration)]
    text = "; ".join([*lines, *filter(None, [epoch_in_words(configuration, facts)])])
    return {
        "about": _purpose(workload),
        "words": f"{text[0].upper()}{text[1:]}.",
        "own_values": _own_values(configuration),
    }


def _purpose(workload: Workload) -> str:
    if workload.script:
        file = workload.script.file
        name = f" {file}" if re.fullmatch(PLAIN, file) else ""
        return f"Run your script{name} with its fit as it was tuned."
    model, dataset = _name(workload.model), _name(workload.dataset)
    return f"Train the model of {model} on the examples of {dataset}."


def _name(factory: Factory) -> str:
    if factory.module:
        return factory.short_name
    last = factory.name.rpartition(".")[2]
    return last if last.isidentifier() else "a lambda"


def _own_values(configuration: Configuration) -> list[str]:
    """Return a comment for each axis of the user's own, cut to the width."""
    lines = [f"# - {name} = {literal(value)}" for name, value in configuration.own_values().items()]
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines]


def _distribution(configuration: Configuration) -> Iterator[str]:
    title = strategy(configuration.strategy).title
    workers, each = configuration.workers, configuration.replicas_per_worker
    batch = plural(configuration.per_replica_batch, "example")
    if not configuration.distributed:
        yield f"{title}, {batch} per step"
        return
    replicas = plural(each, "replica")
    place = f"{plural(workers, 'worker')} with {replicas} each" if workers > 1 else replicas
    yield f"{title}, {place}"
    if strategy(configuration.strategy).asynchronous:
        yield f"variables on {plural(configuration.servers, 'parameter server')}"
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
    plain = re.fullmatch(PLAIN, str(value))
    return axes()[name].in_words(name, value) if plain else f"{name} is set"


_SHARDS = {
    "auto": "examples sharded by tf.data (auto)",
    "data": "every worker reads all examples and keeps its shard",
    "file": "input files sharded between the workers",
    "off": "every worker reads all examples",
    "source": "each worker reads only its own shard",
}
