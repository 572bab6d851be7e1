"""A batch of the wrong size where a strategy splits it, or does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.lint.code import Kind, Module
from autotune.lint.report import Severity
from autotune.lint.rule import Hit, Rule

_PER_REPLICA = re.compile(r"per_?(replica|device|gpu|worker|core)|(replica|device|gpu)_?batch")
_GLOBAL = re.compile(r"global_?batch|batch_?size_?global|total_?batch")
_MADE_WHOLE = "experimental_distribute_dataset"
_MADE_IN_PARTS = "distribute_datasets_from_function"
_TOO_SMALL = (
    f"is the per-replica batch size, but {_MADE_WHOLE} splits each batch among all replicas."
)
_TOO_LARGE = f"is the global batch size, but {_MADE_IN_PARTS} gives each replica whole batches."
_DEEPEST = 20


def _check(module: Module) -> Iterator[Hit]:
    for call, _ in module.methods(Kind.STRATEGY, _MADE_WHOLE):
        for size in _sizes(module, call.args[:1]):
            if _PER_REPLICA.search(_name(size)):
                yield size, f"`{ast.unparse(size)}` by its name {_TOO_SMALL}"
    for call, _ in module.methods(Kind.STRATEGY, _MADE_IN_PARTS):
        function = module.meant(call.args[0]) if call.args else None
        results = module.functions.returned(function) if function else []
        for size in _sizes(module, results):
            if _GLOBAL.search(_name(size)):
                yield size, f"`{ast.unparse(size)}` by its name {_TOO_LARGE}"


def _name(node: ast.expr) -> str:
    """Return the name of a plain name, in lower case; nothing for what is computed."""
    return ast.unparse(node).lower() if isinstance(node, ast.Name | ast.Attribute) else ""


def _sizes(module: Module, datasets: list[ast.expr]) -> Iterator[ast.expr]:
    """Yield the sizes by which datasets are batched, as far back as each is certain."""
    for dataset in datasets:
        yield from _sizes_of(module, dataset, 0)


def _sizes_of(module: Module, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    if depth > _DEEPEST:
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in {"batch", "padded_batch"} and node.args:
            if module.kind(node.func.value) is Kind.DATASET:
                yield node.args[0]
        elif node.func.attr not in {"unbatch", "rebatch"}:
            yield from _sizes_of(module, node.func.value, depth + 1)
    else:
        value = module.scopes.value(node)
        if value is not None:
            yield from _sizes_of(module, value, depth + 1)


_BAD = """
import tensorflow as tf

BATCH_PER_REPLICA = 64
strategy = tf.distribute.MirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices(images).batch(BATCH_PER_REPLICA)  # <- here
batches = strategy.experimental_distribute_dataset(dataset)
"""

_BAD_GLOBAL = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
global_batch = 64 * strategy.num_replicas_in_sync


def make_dataset(context):
    dataset = tf.data.Dataset.from_tensor_slices(images)
    share = dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
    return share.batch(global_batch).prefetch(2)  # <- here


batches = strategy.distribute_datasets_from_function(make_dataset)
"""

_GOOD = _BAD.replace(
    "dataset = tf.data.Dataset.from_tensor_slices(images).batch(BATCH_PER_REPLICA)  # <- here",
    "batch = BATCH_PER_REPLICA * strategy.num_replicas_in_sync\n"
    "dataset = tf.data.Dataset.from_tensor_slices(images).batch(batch)",
)

_GOOD_PARTS = _BAD_GLOBAL.replace(
    "    return share.batch(global_batch).prefetch(2)  # <- here",
    "    batch = context.get_per_replica_batch_size(global_batch)\n"
    "    return share.batch(batch).prefetch(2)",
)

RULE = Rule(
    name="batch-of-one-replica",
    title="per-replica and global batch size mixed up",
    severity=Severity.WARNING,
    why=(
        "experimental_distribute_dataset splits every batch among the replicas, so each gets "
        "only a fraction and idles; datasets of distribute_datasets_from_function are not split, "
        "so the batch grows with the replicas and may not fit in memory."
    ),
    instead=(
        "Use the global batch size for experimental_distribute_dataset, and "
        "input_context.get_per_replica_batch_size(global_batch) in the function passed to "
        "distribute_datasets_from_function."
    ),
    words=((_MADE_WHOLE, _MADE_IN_PARTS),),
    check=_check,
    bad=(_BAD, _BAD_GLOBAL),
    good=(_GOOD, _GOOD_PARTS),
)
