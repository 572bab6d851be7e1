"""Shards of a dataset that each worker has in another order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_LIST_FILES = "tf.data.Dataset.list_files"
_SEEDS = ("set_seed", "set_random_seed")


def _check(module: Module) -> Iterator[Hit]:
    if any(map(module.tree.attributes.get, _SEEDS)) or any(map(module.tree.loads.get, _SEEDS)):
        return
    for shard, dataset in module.methods(Kind.DATASET, "shard"):
        for call in _made_by(module, dataset):
            if _draws_order(module, call):
                what = getattr(call.func, "attr", "")
                yield shard, f"Each worker shards an order of its own, by `{what}` without a seed."
                break


def _made_by(module: Module, dataset: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls of the chain that a dataset certainly comes through, the last one first."""
    passed: set[ast.expr] = set()
    node: ast.expr | None = dataset
    while node is not None and node not in passed:
        passed.add(node)
        if isinstance(node, ast.Call):
            yield node
            node = node.func.value if isinstance(node.func, ast.Attribute) else None
        else:
            node = _latest(module, node) if isinstance(node, ast.Name) else None


def _latest(module: Module, node: ast.Name) -> ast.expr | None:
    """Return what was assigned last to a name, by the text, where no condition is between."""
    before = [
        each
        for each in module.scopes.bindings(node.id, node)
        if getattr(each.node, "lineno", 0) < node.lineno
    ]
    last = max(before, key=lambda each: getattr(each.node, "lineno", 0), default=None)
    return last.plain if last is not None and _follows(module, node, last.node) else None


def _follows(module: Module, node: ast.AST, statement: ast.AST) -> bool:
    """Return whether a node stands in the block of a statement, or deeper."""
    parent = module.tree.parent(statement)
    blocks = [each for _, each in ast.iter_fields(parent)] if parent else []
    block = next((each for each in blocks if isinstance(each, list) and statement in each), [])
    return any(each in block for each in module.tree.above(node))


def _draws_order(module: Module, call: ast.Call) -> bool:
    """Return whether a call puts examples or files into an order that no seed fixes."""
    options = {each.arg: each.value for each in call.keywords}
    if module.dotted(call.func) == _LIST_FILES:
        given = [options.get("shuffle"), *call.args[1:2]]
        seeds = [options.get("seed"), *call.args[2:3]]
        return all(each is None or _is(each, value=True) for each in given) and not any(seeds)
    shuffles = getattr(call.func, "attr", "") == "shuffle"
    seeds = [options.get("seed"), *call.args[1:2]]
    return shuffles and all(each is None or _is(each, value=None) for each in seeds)


def _is(node: ast.expr, *, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


_BAD = """
import tensorflow as tf


def make_dataset(context):
    files = tf.data.Dataset.list_files("train-*.tfrecord")
    files = files.shard(context.num_input_pipelines, context.input_pipeline_id)  # <- here
    return files.interleave(tf.data.TFRecordDataset).shuffle(10_000).batch(64)
"""

_GOOD = _BAD.replace('.tfrecord")', '.tfrecord", shuffle=False)').replace("  # <- here", "")

RULE = Rule(
    name="random-order-then-shard",
    title="shards of a random order",
    severity=Severity.WARNING,
    why=(
        "Each worker draws an order of its own, so that their shards overlap: some examples are "
        "read by several workers and others by none."
    ),
    instead="Shard first and shuffle the shard; list files with shuffle=False; or give one seed.",
    words=((".shard(",), ("shuffle", "list_files")),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
