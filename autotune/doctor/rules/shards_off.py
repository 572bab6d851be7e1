"""Sharding turned off without a replacement.

Why: Every worker reads all examples. The global batch then contains duplicates, and training
differs from a single device.

Instead: Use the policy DATA or FILE, or shard at the source in a function passed to
strategy.distribute_datasets_from_function.
"""

import ast

from autotune.doctor import MULTI_WORKER, Hits, Module
from autotune.doctor.rules._examples import WORKERS

_SHARES = {
    *("shard", "input_pipeline_id", "num_input_pipelines", "distribute_datasets_from_function"),
    *("task_id", "task_type", "cluster_resolver", "replica_id_in_sync_group"),
}
_SHARE_WORDS = ("shard", "task_id", "task_index", "worker_id", "worker_index", "rank")


def check(module: Module) -> Hits:
    types = [each.annotation for each in module.nodes if isinstance(each, ast.arg)]
    given = {module.dotted(each) for each in types if each}
    if not (module.strategies | given) & MULTI_WORKER or _shards_itself(module):
        return
    for node in module.attributes["OFF"]:
        parent = module.parents[node]
        is_set = isinstance(parent, ast.Assign) and parent.value is node
        if is_set and module.dotted(node) == "tf.data.experimental.AutoShardPolicy.OFF":
            yield node, "Sharding is off, and nothing in this file shards the examples."


def _shards_itself(module: Module) -> bool:
    bound = [name for scope in module.scopes for name in scope.names]
    if any("shard" in name.lower() and _is_share(name) for name in bound):
        return True
    members = [each for name in _SHARES for each in module.attributes[name]]
    names = [each for name, found in module.loads.items() if _is_share(name) for each in found]
    return not all(_is_only_compared(module, each) for each in (*members, *names))


def _is_share(name: str) -> bool:
    plain = name.lower().replace("shard_policy", "").replace("autoshardpolicy", "")
    return any(word in plain for word in _SHARE_WORDS)


def _is_only_compared(module: Module, node: ast.AST) -> bool:
    """Return whether who asks which worker this is only decides what it does besides reading."""
    parent = module.parents[node]
    chained = isinstance(parent, ast.Attribute) and parent.attr in _SHARES
    return chained or isinstance(parent, ast.Compare)


BAD = f"""{WORKERS}options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = (
    tf.data.experimental.AutoShardPolicy.OFF  # <- here
)
dataset = tf.data.TFRecordDataset(files).batch(64).with_options(options)
batches = strategy.experimental_distribute_dataset(dataset)
"""

GOOD = f"""{WORKERS}options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF


def make_dataset(context):
    files = tf.data.Dataset.list_files("*.tfrecord", shuffle=False)
    files = files.shard(context.num_input_pipelines, context.input_pipeline_id)
    return tf.data.TFRecordDataset(files).batch(32).with_options(options)


batches = strategy.distribute_datasets_from_function(make_dataset)
"""
