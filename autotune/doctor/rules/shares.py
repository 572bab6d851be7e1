"""The examples of each replica and worker: the whole batch, another one, or all of them."""

import ast
from collections.abc import Iterator

from autotune.doctor import MULTI_WORKER, Function, Hits, Kind, Module, rule

_REPLICA_SHARES = {"get_replica_context", "replica_id_in_sync_group", "num_replicas_in_sync"}
"""A function that asks for one of these may take its share of a batch by itself."""
_SHARES = {
    *("shard", "input_pipeline_id", "num_input_pipelines", "distribute_datasets_from_function"),
    *("task_id", "task_type", "cluster_resolver", "replica_id_in_sync_group"),
}
_SHARE_WORDS = ("shard", "task_id", "task_index", "worker_id", "worker_index", "rank")
_NEXT = {"get_next", "get_next_as_optional", "__next__"}


@rule
def dataset_not_distributed(module: Module) -> Hits:
    for call, function in () if module.may_be_one_device else module.runs.items():
        if function is None or not is_run_again(module, call):
            continue
        values = (*_given(call), *_held(module, function))
        given = next((each for each in values if module.kind(each) is Kind.BATCH), None)
        called = module.all_called([function]) if given else ()
        if given and not any(module.asks_for(each, _REPLICA_SHARES) for each in called):
            what = ast.unparse(given)
            yield given, f"Every replica gets the whole `{what}`: its dataset is not distributed."


@rule
def next_in_replica(module: Module) -> Hits:
    for function in module.runs.values():
        functions = module.all_called([function])
        shared = module.may_be_one_device or module.ask_which_it_is(functions)
        for node in (each for inner in functions for each in module.walk(inner)):
            given, read = _asked(module, node)
            kind = module.kind(given) if given is not None else None
            if kind is Kind.DISTRIBUTED or (kind is Kind.DATASET and not shared):
                what = f"`{ast.unparse(read)}` is {'read' if read is given else 'called'}"
                whole = ", of a dataset that is not distributed" if kind is Kind.DATASET else ""
                yield read, f"{what} on each replica{whole}."


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the values that a call of `strategy.run` hands to the function."""
    values = [*call.args[1:], *(each.value for each in call.keywords if each.arg != "options")]
    if call.args and isinstance(call.args[0], ast.Call):
        values += call.args[0].args[1:]
    for value in values:
        match value:
            case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Dict(values=several):
                yield from several
            case _:
                yield value


def _held(module: Module, function: Function) -> Iterator[ast.expr]:
    """Yield the names of outer values that the function uses, but for shapes and types."""
    for each in module.walk(function):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            asked = getattr(module.parents[each], "attr", "") in {"shape", "dtype"}
            if not asked and not module.is_bound_in(each, function):
                yield each


def is_run_again(module: Module, node: ast.AST) -> bool:
    """Return whether it runs again and again: alone, it may be there to create the variables."""
    return any(any(module.loops_around(each)) for each in module.places(node))


def _asked(module: Module, node: ast.AST) -> tuple[ast.expr | None, ast.AST]:
    """Return the iterator of which a node wants the next element, and the place that says so."""
    match node:
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return node.iter, node.iter
        case ast.Call(func=ast.Name(id="next") as called, args=[given, *_]):
            return None if module.bindings_of(called) else given, node
        case ast.Call(func=ast.Attribute(attr=name, value=given)) if name in _NEXT:
            return given, node
    return None, node


@rule
def shards_off(module: Module) -> Hits:
    given = {module.dotted(it.annotation) for it in module.nodes if isinstance(it, ast.arg)}
    if not (module.strategies | given) & MULTI_WORKER or _shards_itself(module):
        return
    for node in module.attributes["OFF"]:
        parent = module.parents[node]
        is_off = module.dotted(node) == "tf.data.experimental.AutoShardPolicy.OFF"
        is_set = isinstance(parent, ast.Assign) and parent.value is node
        if is_off and is_set and not _is_replaced(module, parent):
            yield node, "Sharding is off, and nothing in this file shards the examples."


def _is_replaced(module: Module, statement: ast.AST) -> bool:
    """Return whether another policy is in force wherever the options of an assignment are used."""
    written = ast.unparse(getattr(statement, "targets", [])[0])
    same = (module.statement_of(each) for each in module.attributes["auto_shard_policy"])
    policies = {
        it for it in same if isinstance(it, ast.Assign) and ast.unparse(it.targets[0]) == written
    }
    loads = module.loads[written.partition(".")[0]]
    uses = [each for each in loads if isinstance(module.parents[each], ast.Call)]
    return bool(uses) and all(module.order.in_force(policies, it) is not statement for it in uses)


def _shards_itself(module: Module) -> bool:
    if any("shard" in name.lower() and _is_share(name) for name in module.bound_names):
        return True
    members = [each for name in _SHARES for each in module.attributes[name]]
    names = [each for name, found in module.loads.items() if _is_share(name) for each in found]
    # A comparison with the worker's number may only decide what happens besides reading.
    parents = [module.parents[each] for each in (*members, *names)]
    asks = (it for it in parents if getattr(it, "attr", "") not in _SHARES)
    return not all(isinstance(each, ast.Compare) for each in asks)


def _is_share(name: str) -> bool:
    plain = name.lower().replace("shard_policy", "").replace("autoshardpolicy", "")
    return any(word in plain for word in _SHARE_WORDS)
