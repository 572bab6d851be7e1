"""Workers that all read the same data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Module
from autotune.doctor.code.kinds import MULTI_WORKER
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_OFF = "tf.data.experimental.AutoShardPolicy.OFF"
_SHARES = {
    *("shard", "input_pipeline_id", "num_input_pipelines", "distribute_datasets_from_function"),
    *("task_id", "task_type", "cluster_resolver", "replica_id_in_sync_group"),
}
_SHARE_WORDS = ("shard", "task_id", "task_index", "worker_id", "worker_index", "rank")


def _check(module: Module) -> Iterator[Hit]:
    if not _mentions_workers(module) or _shards_itself(module):
        return
    for node in module.tree.attributes.get("OFF", ()):
        if module.dotted(node) == _OFF and _is_set(module, node):
            yield node, "Sharding is off, and nothing in this file shards the examples."


def _mentions_workers(module: Module) -> bool:
    """Return whether the module makes a strategy of several workers, or gets one by its type."""
    types = (each.annotation for each in ast.walk(module.tree.root) if isinstance(each, ast.arg))
    given = {module.dotted(each) for each in types if each is not None}
    return bool((module.strategies | given) & MULTI_WORKER)


def _is_set(module: Module, node: ast.Attribute) -> bool:
    """Return whether the policy is put to use, and not only compared with."""
    parent = module.tree.parent(node)
    return isinstance(parent, ast.Assign) and parent.value is node


def _shards_itself(module: Module) -> bool:
    nodes: list[ast.expr] = []
    nodes += [each for name in _SHARES for each in module.tree.attributes.get(name, ())]
    nodes += [
        each for name, found in module.tree.loads.items() if _is_share(name) for each in found
    ]
    bound = (name for scope in module.scopes.all() for name in scope.names)
    functions = any("shard" in name.lower() and _is_share(name) for name in bound)
    return functions or any(not _is_only_compared(module, each) for each in nodes)


def _is_share(name: str) -> bool:
    plain = name.lower().replace("shard_policy", "").replace("autoshardpolicy", "")
    return any(word in plain for word in _SHARE_WORDS)


def _is_only_compared(module: Module, node: ast.AST) -> bool:
    """Return whether who asks which worker this is only decides what it does besides reading."""
    parent = module.tree.parent(node)
    chained = isinstance(parent, ast.Attribute) and parent.attr in _SHARES
    return chained or isinstance(parent, ast.Compare)


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = (
    tf.data.experimental.AutoShardPolicy.OFF  # <- here
)
dataset = tf.data.TFRecordDataset(files).batch(64).with_options(options)
batches = strategy.experimental_distribute_dataset(dataset)
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF


def make_dataset(context):
    files = tf.data.Dataset.list_files("*.tfrecord", shuffle=False)
    files = files.shard(context.num_input_pipelines, context.input_pipeline_id)
    return tf.data.TFRecordDataset(files).batch(32).with_options(options)


batches = strategy.distribute_datasets_from_function(make_dataset)
"""

RULE = Rule(
    name="shards-off",
    title="sharding turned off without a replacement",
    severity=Severity.ERROR,
    why=(
        "Every worker reads all examples. The global batch then contains duplicates, and "
        "training differs from a single device."
    ),
    instead=(
        "Use the policy DATA or FILE, or shard at the source in a function passed to "
        "strategy.distribute_datasets_from_function."
    ),
    words=(("autoshardpolicy",), ("multiworkermirroredstrategy",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
