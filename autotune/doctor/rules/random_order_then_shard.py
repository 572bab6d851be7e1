"""Shards of a random order.

Why: Each worker draws an order of its own, so that their shards overlap: some examples are read by
several workers and others by none.

Instead: Shard first and shuffle the shard; list files with shuffle=False; or give one seed.
"""

import ast
from collections.abc import Iterator

from autotune.doctor import Hits, Kind, Module, Severity, argument, last_name, mended

_SEEDS = ("set_seed", "set_random_seed")


def check(module: Module) -> Hits:
    if any(module.attributes[each] or module.loads[each] for each in _SEEDS):
        return
    for shard, dataset in module.methods(Kind.DATASET, "shard"):
        drawn = [each for each in _made_by(module, dataset) if _draws_order(module, each)]
        if drawn:
            what = getattr(drawn[0].func, "attr", "")
            yield shard, f"Each worker shards an order of its own, by `{what}` without a seed."


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
            last = module.last_before(node, module.bindings_of(node))
            node = last.plain if last and module.is_certain(node, last) else None


def _draws_order(module: Module, call: ast.Call) -> bool:
    lists = module.dotted(call.func) == "tf.data.Dataset.list_files"
    seed = argument(call, 2 if lists else 1, "seed")
    if lists:
        shuffle = argument(call, 1, "shuffle")
        return not seed and (shuffle is None or getattr(shuffle, "value", None) is True)
    is_free = seed is None or (isinstance(seed, ast.Constant) and seed.value is None)
    return last_name(call.func) == "shuffle" and is_free


BAD = """
import tensorflow as tf


def make_dataset(context):
    files = tf.data.Dataset.list_files("train-*.tfrecord")
    files = files.shard(context.num_input_pipelines, context.input_pipeline_id)  # <- here
    return files.interleave(tf.data.TFRecordDataset).shuffle(10_000).batch(64)
"""
SEVERITY = Severity.WARNING
GOOD = mended(BAD, '.tfrecord")', '.tfrecord", shuffle=False)')
