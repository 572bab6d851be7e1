"""Which examples each worker reads, where sharding is turned off or comes after an order."""

import ast
from collections.abc import Iterator

from autotune.doctor import MULTI_WORKER, Hits, Kind, Module, argument, last_name, rule

_SHARES = {
    *("shard", "input_pipeline_id", "num_input_pipelines", "distribute_datasets_from_function"),
    *("task_id", "task_type", "cluster_resolver", "replica_id_in_sync_group"),
}
_SHARE_WORDS = ("shard", "task_id", "task_index", "worker_id", "worker_index", "rank")
_SEEDS = ("set_seed", "set_random_seed")


@rule
def shards_off(module: Module) -> Hits:
    types = [each.annotation for each in module.nodes if isinstance(each, ast.arg)]
    given = {module.dotted(each) for each in types if each}
    if not (module.strategies | given) & MULTI_WORKER or _shards_itself(module):
        return
    for node in module.attributes["OFF"]:
        parent = module.parents[node]
        is_set = isinstance(parent, ast.Assign) and parent.value is node
        if is_set and module.dotted(node) == "tf.data.experimental.AutoShardPolicy.OFF":
            yield node, "Sharding is off, and nothing in this file shards the examples."


@rule
def random_order_then_shard(module: Module) -> Hits:
    if any(module.attributes[each] or module.loads[each] for each in _SEEDS):
        return
    for shard, dataset in module.methods(Kind.DATASET, "shard"):
        drawn = next((it for it in _made_by(module, dataset) if _draws_order(module, it)), None)
        if drawn:
            what = getattr(drawn.func, "attr", "")
            yield shard, f"Each worker shards an order of its own, by `{what}` without a seed."


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
            last = module.binding_at(node, module.bindings_of(node))
            node = last.plain if last else None


def _draws_order(module: Module, call: ast.Call) -> bool:
    if module.dotted(call.func) == "tf.data.Dataset.list_files":
        shuffle = argument(call, 1, "shuffle")
        shuffles = shuffle is None or getattr(shuffle, "value", None) is True
        return shuffles and not argument(call, 2, "seed")
    seed = argument(call, 1, "seed")
    is_free = seed is None or (isinstance(seed, ast.Constant) and seed.value is None)
    return last_name(call.func) == "shuffle" and is_free
