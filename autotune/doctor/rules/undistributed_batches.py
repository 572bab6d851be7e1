"""Batches of a dataset that is not distributed, or that are asked for on each replica."""

import ast
from collections.abc import Iterator

from autotune.doctor import Hits, Kind, Module, rule
from autotune.doctor.code.module import Run

_SHARES = {"get_replica_context", "replica_id_in_sync_group", "num_replicas_in_sync"}
"""Whoever asks for these may take its share of a batch by itself."""
_NEXT = {"get_next", "get_next_as_optional", "__next__"}


@rule
def dataset_not_distributed(module: Module) -> Hits:
    for run in () if module.may_be_one_device else module.runs:
        values = (*_given(run.call), *_held(module, run))
        given = next((each for each in values if module.kind(each) is Kind.BATCH), None)
        if given is None or run.function is None or not _is_repeated(module, run.call):
            continue
        called = module.all_called([run.function])
        if not any(module.asks_for(each, _SHARES) for each in called):
            what = ast.unparse(given)
            yield given, f"Every replica gets the whole `{what}`: its dataset is not distributed."


@rule
def next_in_replica(module: Module) -> Hits:
    for run in module.runs:
        functions = module.all_called([run.function])
        shared = module.may_be_one_device or module.ask_which_it_is(functions)
        for node in (each for function in functions for each in module.walk(function)):
            given, read = _asked(module, node)
            kind = module.kind(given) if given is not None else None
            if kind is Kind.DISTRIBUTED or (kind is Kind.DATASET and not shared):
                what = f"`{ast.unparse(read)}` is {'read' if read is given else 'called'}"
                whole = ", of a dataset that is not distributed" if kind is Kind.DATASET else ""
                yield read, f"{what} on each replica{whole}."


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call of `strategy.run` hands to the function."""
    values = [*call.args[1:], *(each.value for each in call.keywords if each.arg != "options")]
    if call.args and isinstance(call.args[0], ast.Call):
        values += call.args[0].args[1:]
    for value in values:
        match value:
            case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Dict(values=several):
                yield from several
            case _:
                yield value


def _held(module: Module, run: Run) -> Iterator[ast.expr]:
    """Yield the names by which the function uses what surrounds it, but for shapes and types."""
    function = run.function
    for each in module.walk(function) if function else ():
        if function and isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            bound = (it.node for it in module.bindings_of(each))
            asked = getattr(module.parents[each], "attr", "") in {"shape", "dtype"}
            if not asked and not any(module.inside(it, function) for it in bound):
                yield each


def _is_repeated(module: Module, node: ast.AST) -> bool:
    """Return whether it runs again and again: alone, it may be there to create the variables."""
    for _ in range(3):
        function = module.function_of(node)
        sites = module.sites[function] if function else []
        if any(module.loops_around(node)):
            return True
        if len(sites) != 1:
            return any(True for site in sites for _ in module.loops_around(site))
        node = sites[0]
    return False


def _asked(module: Module, node: ast.AST) -> tuple[ast.expr | None, ast.AST]:
    """Return the iterator of which a node wants the next element, and the place that says so."""
    match node:
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return node.iter, node.iter
        case ast.Call(func=ast.Name(id="next"), args=[given, *_]):
            return None if module.bindings("next", node) else given, node
        case ast.Call(func=ast.Attribute(attr=name, value=given)) if name in _NEXT:
            return given, node
    return None, node
