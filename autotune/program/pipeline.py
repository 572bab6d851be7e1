"""How a program makes its dataset: from what `Model.fit` takes to endless batches."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from autotune.axis import Place
from autotune.config import Configuration, axes
from autotune.program.text import call, literal
from autotune.value import Scalar
from autotune.workload import Factory, FitData, WorkloadFacts

CACHES = "autotune-cache-"
"""How the names of the folders begin that hold examples in files."""
_CONTEXT = "input_context: tf.distribute.InputContext"
_CACHES = {
    "off": "lambda dataset: dataset",
    "memory": "tf.data.Dataset.cache",
    "file": "cached_in_file",
}
"""The function that the factory gets for its parameter `cache`."""
_CACHED = {"off": "dataset", "memory": "dataset.cache()", "file": "cached_in_file(dataset)"}
"""What stands for the dataset behind a factory that has no such parameter."""
_SHARDING = {
    "auto": "tf.data shards the examples between the workers, by file where it can.",
    "data": "Every worker runs this whole pipeline, and tf.data keeps its shard of the examples.",
    "file": "tf.data shards the files between the workers, so each reads only its own.",
    "off": "Every worker reads all examples.",
}
_CARRIED = [Path(__file__).parents[1] / name for name in ("datasets.py", "notebook.py")]
"""Read and not imported: TensorFlow would come with it."""
_OF_ARRAYS = ("batches_of", "as_tensor")
_BY_PYTHON = ("read_by_python", "by_threads", "by_processes")
_OF_CELLS = ("code_of_notebook", "python_of_cell")


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
    batch = batch_of(configuration) if whole else "PER_REPLICA_BATCH"
    of_what = "global batches" if whole else "per-replica batches from this worker's shard"
    of_workers = "worker: int, workers: int" if apart else "global_batch: int"
    in_workers = "workers" if apart else "global_batch // PER_REPLICA_BATCH"
    takes = {*facts.dataset_takes} - {*dict(dataset.arguments)}
    prefetch = configuration.prefetch
    return {
        "apart": apart,
        "held": held,
        "parameter": _CONTEXT if source else of_workers if several_workers else "",
        "of_what": of_what if distributed else "batches",
        "lone_context": "input_context" in takes and not source,
        "in_sync": in_workers if several_workers else "REPLICAS" if distributed else "1",
        "examples": _examples(configuration, dataset, facts, batch),
        "example_lines": axis_lines(configuration, Place.EXAMPLES),
        "policy": configuration.shard_policy,
        "sharding": _SHARDING.get(configuration.shard_policy, ""),
        "option_lines": axis_lines(configuration, Place.OPTIONS),
        "equal": distributed and not apart,
        "batched": facts.batched,
        "batch": batch,
        "caches": CACHES if configuration.cache == "file" else "",
        "cached": _CACHED["off" if "cache" in takes else configuration.cache],
        "shuffle": 0 if configuration.cache == "off" or "cache" in takes else facts.shuffle_buffer,
        "prefetch": _automatic(prefetch) if prefetch else "",
    }


def batch_of(configuration: Configuration) -> str:
    """Return how a program calls the examples of a step."""
    if configuration.workers > 1:
        return "global_batch"
    return "GLOBAL_BATCH" if configuration.distributed else "PER_REPLICA_BATCH"


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
    offered = {
        "input_context": "input_context",
        "batch_size": batch,
        "cache": _CACHES[configuration.cache],
        **{a.needs_parameter: _automatic(configuration[n]) for n, a in axes().items()},
    }
    takes = {*facts.dataset_takes, *(["batch_size"] * facts.batched)}
    values = {name: text for name, text in offered.items() if name and name in takes}
    values |= {name: literal(value) for name, value in dataset.arguments}
    own = configuration.own_values()
    values |= {name: literal(own[name]) for name in own if name in facts.dataset_takes}
    factory = "dataset_fn" if facts.returned.plain else "data_fn"
    return call(factory, values.items(), before="dataset = ", indent=4)


def _automatic(value: Scalar) -> str:
    return "tf.data.AUTOTUNE" if value == "auto" else literal(value)


def taken(configuration: Configuration, facts: WorkloadFacts) -> dict[str, object]:
    returned = facts.returned
    sized = returned.arrays or returned.by_python or returned.uneven
    names = _OF_ARRAYS * returned.arrays + ("full_batches",) * returned.uneven
    names += _BY_PYTHON * returned.by_python
    return {
        "plain": returned.plain,
        "parameters": "*, batch_size: int, **options: Any" if sized else "**options: Any",
        "functions": [_functions()[name] for name in names],
        "expression": _expression(configuration, facts),
    }


def _expression(configuration: Configuration, facts: WorkloadFacts) -> str:
    returned, own = facts.returned, "batch_size" in facts.dataset_takes
    sized = own and (returned.arrays or returned.by_python or returned.uneven)
    text = "dataset_fn(batch_size=batch_size, **options)" if sized else "dataset_fn(**options)"
    if returned.beside:
        text = f"{text}[0]"
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


def functions_for(
    data: FitData | None, *, whole: bool, notebook: bool, evaluates: bool
) -> list[str]:
    names = _OF_CELLS * notebook
    names += _OF_ARRAYS * (data in (None, FitData.ARRAYS))
    names += ("as_tensor",) * (evaluates and data is not FitData.ARRAYS)
    names += _BY_PYTHON * (data in (None, FitData.PY_DATASET, FitData.GENERATOR))
    names += ("full_batches",) * (whole and data is not FitData.ARRAYS)
    return [_functions()[name] for name in names]


@cache
def _functions() -> dict[str, str]:
    found = {}
    for file in _CARRIED:
        text = file.read_text(encoding="utf-8")
        for each in ast.parse(text).body:
            if isinstance(each, ast.FunctionDef):
                found[each.name] = ast.get_source_segment(text, each) or ""
    return found
