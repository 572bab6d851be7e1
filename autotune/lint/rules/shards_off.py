"""Workers that all read the same data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.lint.code import Module
from autotune.lint.code.kinds import MULTI_WORKER
from autotune.lint.report import Severity
from autotune.lint.rule import Hit, Rule

_OFF = "tf.data.experimental.AutoShardPolicy.OFF"
_SHARES = {
    *("shard", "input_pipeline_id", "num_input_pipelines", "distribute_datasets_from_function"),
    *("task_id", "task_type", "cluster_resolver", "replica_id_in_sync_group"),
}
_SHARE_WORDS = ("shard", "task_id", "task_index", "worker_id", "worker_index", "rank")


def _check(module: Module) -> Iterator[Hit]:
    if not module.strategies & MULTI_WORKER or _shards_itself(module):
        return
    for node in module.tree.attributes.get("OFF", ()):
        if module.dotted(node) == _OFF and _is_set(module, node):
            yield node, "Sharding is off, and nothing in this file shards the examples."


def _is_set(module: Module, node: ast.Attribute) -> bool:
    """Return whether the policy is put to use, and not only compared with."""
    parent = module.tree.parent(node)
    return isinstance(parent, ast.Assign) and parent.value is node


def _shards_itself(module: Module) -> bool:
    if any(module.tree.attributes.get(name) for name in _SHARES):
        return True
    names = {*module.tree.loads, *(each for scope in module.scopes.all() for each in scope.names)}
    policy = "shard_policy"
    return any(
        word in name.lower().replace(policy, "")
        for name in names
        if name != "AutoShardPolicy"
        for word in _SHARE_WORDS
    )


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
