"""How a program makes its dataset: from what `Model.fit` takes to endless batches."""

from collections.abc import Collection, Sequence

from autotune.axis import Place
from autotune.base import Scalar
from autotune.config import Configuration, axes
from autotune.program.text import WIDTH, call, literal
from autotune.workload import Factory, Returned, WorkloadFacts

CACHES = "autotune-cache-"
"""How the names of the folders begin that hold examples in files; `keras_training` makes them."""
_CONTEXT = "input_context"
_WHOLE = "tf.distribute.InputContext()"
_CACHES = {
    "off": "lambda dataset: dataset",
    "memory": "tf.data.Dataset.cache",
    "file": "cache_in_file",
}
"""The function that the factory gets for its parameter `cache`."""
_CACHED = {"off": "dataset", "memory": "dataset.cache()", "file": "cache_in_file(dataset)"}
"""What stands for the dataset behind a factory that has no such parameter."""
_SHARDING = {
    "auto": "tf.data shards the examples between the workers, by file where it can.",
    "data": "Every worker runs this whole pipeline, and tf.data keeps its shard of the examples.",
    "file": "tf.data shards the files between the workers, so each reads only its own.",
    "off": "Every worker reads all examples.",
}


def pipeline(
    configuration: Configuration,
    dataset: Factory,
    facts: WorkloadFacts,
    *,
    apart: bool,
    held: bool,
) -> dict[str, object]:
    """Return what the template of `make_dataset()` needs to know."""
    several_workers, distributed = configuration.workers > 1, configuration.distributed
    source = at_source(configuration)
    whole = distributed and not source and not apart
    batch = batch_of(configuration) if whole else _of_replica(configuration)
    of_what = "global batches" if whole else "per-replica batches from this worker's shard"
    of_workers = "worker, workers" if apart else "global_batch"
    in_workers = "workers" if apart else "global_batch // PER_REPLICA_BATCH"
    takes = {*facts.dataset_takes} - {*dict(dataset.arguments)}
    handed = configuration.cache == "off" or "cache" in takes
    cached = _CACHED["off" if handed else configuration.cache]
    shuffle = 0 if handed else facts.shuffle_buffer
    stages = [
        ".repeat()",
        "" if facts.batched else f".batch({batch}, drop_remainder=True)",
        ".take(1).cache().repeat()" if held else "",
        f".prefetch({_automatic(configuration.prefetch)})" if configuration.prefetch else "",
    ]
    return {
        "apart": apart,
        "held": held,
        "parameter": _CONTEXT if source else of_workers if several_workers else "",
        "of_what": of_what if distributed else "batches",
        "lone_context": "input_context" in takes and not source,
        "in_sync": in_workers if several_workers else "REPLICAS" if distributed else "1",
        "examples": _examples(configuration, dataset, facts, batch),
        "policy": configuration.shard_policy,
        "sharding": _SHARDING.get(configuration.shard_policy, ""),
        "option_lines": axis_lines(configuration, Place.OPTIONS),
        "cached": cached,
        "shuffle": shuffle,
        "last_lines": _last_lines("dataset" if shuffle else cached, stages),
    }


def _last_lines(dataset: str, stages: Sequence[str]) -> list[str]:
    """Return the statements that end with the batches of a dataset; two where one is too long."""
    flat = f"return {dataset}{''.join(stages)}"
    if 4 + len(flat) <= WIDTH:
        return [flat]
    return [f"dataset = {dataset}{''.join(stages[:-1])}", f"return dataset{stages[-1]}"]


def batch_of(configuration: Configuration) -> str:
    """Return how a program calls the examples of a step."""
    if configuration.workers > 1:
        return "global_batch"
    return "GLOBAL_BATCH" if configuration.distributed else _of_replica(configuration)


def _of_replica(configuration: Configuration) -> str:
    return "PER_REPLICA_BATCH" if configuration.distributed else "BATCH_SIZE"


def at_source(configuration: Configuration) -> bool:
    """Whether each worker has a pipeline of its own that reads only its share."""
    return configuration.workers > 1 and configuration.shard_policy == "source"


def axis_lines(configuration: Configuration, place: Place) -> list[str]:
    """Return the lines that a place holds for the axes that are away from their defaults."""
    changed, found = configuration.changed(), []
    for name, line in ((name, axis.line) for name, axis in axes().items() if name in changed):
        if line is not None and line.place is place:
            found += [f"# {line.comment}"] * bool(line.comment)
            found.append(line.code.replace("{value}", literal(changed[name])))
    return found


def _examples(
    configuration: Configuration, dataset: Factory, facts: WorkloadFacts, batch: str
) -> str:
    takes = {*facts.dataset_takes, *(["batch_size"] * facts.batched)}
    given = _given(configuration, dataset, facts, takes, batch)
    factory = "dataset_fn" if facts.returned.plain else "data_fn"
    return call(factory, given, before="dataset = ", indent=4)


def _given(
    configuration: Configuration,
    dataset: Factory,
    facts: WorkloadFacts,
    takes: Collection[str],
    batch: str,
    context: str = _CONTEXT,
) -> list[str]:
    """Return the arguments of a call: what it takes of what is offered, the fixed and the tuned."""
    offered = {
        "input_context": context,
        "batch_size": batch,
        "cache": _CACHES[configuration.cache],
        **{a.needs_parameter: _automatic(configuration[n]) for n, a in axes().items()},
    }
    values = {name: text for name, text in offered.items() if name and name in takes}
    values |= {name: literal(value) for name, value in dataset.arguments}
    own = configuration.own_values()
    values |= {name: literal(own[name]) for name in own if name in facts.dataset_takes}
    return [f"{name}={text}" for name, text in values.items()]


def _automatic(value: Scalar) -> str:
    return "tf.data.AUTOTUNE" if value == "auto" else literal(value)


def taken(configuration: Configuration, facts: WorkloadFacts, *, apart: bool) -> dict[str, object]:
    returned, keeps = facts.returned, _keeps_validation(configuration, facts, apart=apart)
    sized = returned.arrays or returned.by_python or returned.uneven
    passes = sized and "batch_size" in facts.dataset_takes
    made = f"dataset_fn({'batch_size=batch_size, ' if passes else ''}**options)"
    train = f"{made}[0]" if returned.beside else made
    return {
        "plain": returned.plain,
        "parameters": "*, batch_size, **options" if sized else "**options",
        "call": made,
        "keeps": keeps,
        "expression": _as_dataset("train" if keeps else train, configuration, returned),
    }


def _keeps_validation(configuration: Configuration, facts: WorkloadFacts, *, apart: bool) -> bool:
    """Whether one call of the factory gives both parts of its data, which it may divide by chance.

    Where each worker makes a share of its own, only another call gives all that validates.
    """
    return facts.returned.beside and not apart and not at_source(configuration)


def _as_dataset(text: str, configuration: Configuration, returned: Returned) -> str:
    if returned.arrays:
        text = f"batches_of({'*' if returned.arguments else ''}{text}, batch_size=batch_size)"
    if returned.by_python:
        text = f"{reading(text, configuration)}.rebatch(batch_size, drop_remainder=True)"
    if returned.unbatched:
        text = f"{text}.unbatch()"
    return f"full_batches({text}, batch_size)" if returned.uneven else text


def reading(source: str, configuration: Configuration, *, shuffle: str = "") -> str:
    workers = configuration.py_dataset_workers
    arguments = [source, *([f"shuffle={shuffle}"] if shuffle else [])]
    return f"read_by_python({', '.join(arguments + [f'workers={workers}'] * bool(workers))})"


def validation(
    configuration: Configuration, dataset: Factory, facts: WorkloadFacts, *, apart: bool
) -> str:
    """Return the lines that make what a program validates with; empty where there is nothing."""
    returned = facts.returned
    if not returned.beside:
        return ""
    batch = _of_replica(configuration)
    batched = facts.batched or returned.unbatched
    if _keeps_validation(configuration, facts, apart=apart):
        return f"return validation_of(validation[0], {batch}, batched={batched})"
    usual = Configuration(arguments=configuration.arguments)
    given = _given(usual, dataset, facts, facts.dataset_takes, batch, _WHOLE)
    made = call("dataset_fn", given, before="data = ", indent=4)
    return f"{made}\n    return validation_of(data[1], {batch}, batched={batched})"
