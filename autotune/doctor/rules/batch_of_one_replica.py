"""A batch of the wrong size where a strategy splits it, or does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.scopes import Binding
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_PER_REPLICA = re.compile(r"per_?(replica|device|gpu|worker|core)|(replica|device|gpu)_?batch")
_GLOBAL = re.compile(r"global_?batch|batch_?size_?global|total_?batch")
_MADE_WHOLE = "experimental_distribute_dataset"
_MADE_IN_PARTS = "distribute_datasets_from_function"
_TOO_SMALL = (
    f"is the per-replica batch size, but {_MADE_WHOLE} splits each batch among all replicas."
)
_TOO_SMALL_FIT = "is the per-replica batch size, but `fit` splits each batch among all replicas."
_TOO_LARGE = f"is the global batch size, but {_MADE_IN_PARTS} gives each replica whole batches."
_MOST = 200
_UNDONE = {"unbatch", "rebatch"}


def _check(module: Module) -> Iterator[Hit]:
    for call, _ in module.methods(Kind.STRATEGY, _MADE_WHOLE):
        for size in _sizes(module, call.args[:1]):
            if _PER_REPLICA.search(_name(size)):
                yield size, f"`{ast.unparse(size)}` by its name {_TOO_SMALL}"
    for call in _fits(module):
        given = [each.value for each in call.keywords if each.arg == "batch_size"]
        for size in (*given, *_sizes(module, call.args[:1])):
            if _PER_REPLICA.search(_name(size)):
                yield size, f"`{ast.unparse(size)}` by its name {_TOO_SMALL_FIT}"
    for call, _ in module.methods(Kind.STRATEGY, _MADE_IN_PARTS):
        function = module.meant(call.args[0]) if call.args else None
        results = module.functions.returned(function) if function else []
        for size in _sizes(module, results):
            if _GLOBAL.search(_name(size)):
                yield size, f"`{ast.unparse(size)}` by its name {_TOO_LARGE}"


def _name(node: ast.expr) -> str:
    """Return the name of a plain name, in lower case; nothing for what is computed."""
    return ast.unparse(node).lower() if isinstance(node, ast.Name | ast.Attribute) else ""


def _fits(module: Module) -> Iterator[ast.Call]:
    """Yield where a model from the scope of several replicas is trained by Keras."""
    for call, model in module.methods(Kind.MODEL, "fit") if not module.may_be_one_device else ():
        bindings = module.scopes.bindings(model.id, model) if isinstance(model, ast.Name) else []
        if bindings and all(module.in_strategy_scope(each.node) for each in bindings):
            yield call


def _sizes(module: Module, datasets: list[ast.expr]) -> Iterator[ast.expr]:
    """Yield the sizes by which datasets are batched, as far back as each is certain."""
    for dataset in datasets:
        yield from _sizes_of(module, dataset, set())


def _sizes_of(module: Module, node: ast.expr, seen: set[ast.AST]) -> Iterator[ast.expr]:
    if node in seen or len(seen) > _MOST:
        return
    seen.add(node)
    if not isinstance(node, ast.Call):
        bindings = module.scopes.bindings(node.id, node) if isinstance(node, ast.Name) else []
        for each in bindings if all(_is_whole(each) for each in bindings) else ():
            if each.plain is not None:
                yield from _sizes_of(module, each.plain, seen)
    elif isinstance(node.func, ast.Attribute) and not module.meant(node.func):
        yield from _sizes_of_method(module, node, node.func, seen)
    else:
        yield from _sizes_in_helper(module, node, seen)


def _is_whole(binding: Binding) -> bool:
    """Return whether a name is bound to a dataset that nobody takes apart."""
    value = binding.plain
    func = value.func if isinstance(value, ast.Call) else None
    undone = isinstance(func, ast.Attribute) and func.attr in _UNDONE
    return value is not None and not undone


def _sizes_of_method(
    module: Module, node: ast.Call, func: ast.Attribute, seen: set[ast.AST]
) -> Iterator[ast.expr]:
    if func.attr in {"batch", "padded_batch"}:
        named = [each.value for each in node.keywords if each.arg == "batch_size"]
        if module.kind(func.value) is Kind.DATASET:
            yield from (named or node.args)[:1]
    elif func.attr not in _UNDONE:
        yield from _sizes_of(module, func.value, seen)


def _sizes_in_helper(module: Module, node: ast.Call, seen: set[ast.AST]) -> Iterator[ast.expr]:
    """Yield the sizes in a function of the module; for its parameters, what this call gives."""
    function = module.meant(node.func)
    for result in module.functions.returned(function) if function else ():
        for size in _sizes_of(module, result, seen):
            given = size
            if function and isinstance(size, ast.Name):
                names = [each.arg for each in function.args.args]
                by_place = dict(zip(names, node.args, strict=False))
                named = {each.arg: each.value for each in node.keywords}
                given = (by_place | named).get(size.id, size)
            yield given


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
    words=((_MADE_WHOLE, _MADE_IN_PARTS, ".fit("), ("strategy",)),
    check=_check,
    bad=(_BAD, _BAD_GLOBAL),
    good=(_GOOD, _GOOD_PARTS),
)
