"""Training loops beside a strategy that runs nothing."""

import ast
from collections.abc import Iterator

from autotune.code.values import RUNS
from autotune.doctor import Function, Hits, Kind, Module, PythonLoop, last_name, rule
from autotune.doctor.rules.python_loops import is_repeated

_USES = {
    *("fit", "fit_generator", "train_on_batch", "get_replica_context", "all_reduce", "merge_call"),
    *("experimental_set_strategy", "experimental_distribute_dataset", "make_dataset_iterator"),
    *("distribute_datasets_from_function", "experimental_distribute_datasets_from_function"),
}
"""A program that names one of these may distribute the work in another way."""
_SHOWS = {"print", "str", "repr", "type", "isinstance", "len", "id"}
_LOGS = ("logging.", "absl.logging.")
_WRITTEN = ast.Store | ast.Del
_SHOWN = ast.FormattedValue | ast.Compare | ast.Expr | ast.If | ast.UnaryOp
_UPDATES = {"apply_gradients", "minimize"}


@rule
def strategy_never_run(module: Module) -> Hits:
    if module.is_graph_mode or module.may_be_one_device or not module.made_strategies:
        return
    if any(map(module.attributes.get, _USES)):
        return
    owners = [each.value for name in RUNS for each in module.attributes[name]]
    if any(not module.dotted(it) or module.kind(it) is Kind.STRATEGY for it in owners):
        return  # It may be a strategy that runs something.
    bodies = (each for block, _ in module.strategy_scopes for each in block.body)
    made: set[ast.AST] = {call for each in bodies for call in module.calls_in(each)}
    reads = (each for each in module.nodes if not isinstance(getattr(each, "ctx", None), _WRITTEN))
    values = (each for each in reads if isinstance(each, ast.Name | ast.Attribute | ast.Call))
    strategies = (each for each in values if module.kind(each) is Kind.STRATEGY)
    if not made or not all(_only_scopes(module, each) for each in strategies):
        return
    loops = [each for each in _loops(module) if _trains(module, each, made)]
    for loop in loops:
        called, others = _called_in(module, loop), (each for each in loops if each is not loop)
        if not any(module.inside(it, loop) or module.function_of(it) in called for it in others):
            place = loop.test if isinstance(loop, ast.While) else loop.iter
            yield place, "The strategy runs nothing in this file: this loop trains on one device."


def _only_scopes(module: Module, node: ast.AST) -> bool:
    """Return whether a strategy is only entered, shown or counted, or kept where it is followed."""
    parent = module.parents[node]
    if isinstance(parent, _SHOWN) or getattr(parent, "attr", "") == "num_replicas_in_sync":
        return True
    match parent:
        case ast.Attribute(attr="scope"):
            entered = module.parents[parent]
            match module.parents[entered] if isinstance(entered, ast.Call) else None:
                case ast.Assign(targets=[ast.Name(id=name), *_]):
                    uses = (module.parents[each] for each in module.loads[name])
                    return all(isinstance(each, ast.withitem) for each in uses)
                case above:
                    return isinstance(above, ast.withitem) and above.optional_vars is None
        case ast.IfExp() | ast.BoolOp():
            return node is getattr(parent, "test", None) or _only_scopes(module, parent)
        case ast.Tuple():
            held = isinstance(module.parents[parent], ast.Assign | ast.Return)
            return held and _only_scopes(module, parent)
    return _is_kept(module, node, parent)


def _is_kept(module: Module, node: ast.AST, parent: ast.AST) -> bool:
    match parent:
        case ast.Assign(targets=targets):
            return all(_is_followed(module, each) for each in targets)
        case ast.AnnAssign(target=target):
            return _is_followed(module, target)
        case ast.Return(value=value):
            # All that call the function take apart what it returns, if it is a tuple.
            sites = module.sites[module.function_of(parent)]
            kept = [getattr(module.parents[each], "targets", [None]) for each in sites]
            apart = all(isinstance(each, ast.Tuple) for targets in kept for each in targets)
            return bool(sites) and (apart or not isinstance(value, ast.Tuple))
    call = module.parents[parent] if isinstance(parent, ast.keyword) else parent
    return _is_followed_into(module, node, call)


def _is_followed(module: Module, target: ast.expr) -> bool:
    """Return whether all uses of a target are known to be a strategy's."""
    if isinstance(target, ast.Tuple):
        return all(_is_followed(module, each) for each in target.elts)
    if not isinstance(target, ast.Attribute):
        return isinstance(target, ast.Name)
    owner = module.class_of(target.value)
    if owner is None or owner.bases or all(module.class_of(it) is not owner for it in module.calls):
        return False
    uses = (it for it in module.attributes[target.attr] if not isinstance(it.ctx, ast.Store))
    return all(module.kind(each) is Kind.STRATEGY for each in uses)


def _is_followed_into(module: Module, node: ast.AST, call: ast.AST) -> bool:
    """Return whether a call only shows a strategy, or is of a function of the module."""
    if not isinstance(call, ast.Call) or node is call.func:
        return False
    if getattr(call.func, "id", "") in _SHOWS or module.dotted(call.func).startswith(_LOGS):
        return True
    function = module.method(module.class_of(call), "__init__") or module.meant(call.func)
    if function is None:
        return False
    given = [it for it in module.children[function.args] if isinstance(it, ast.arg)]
    names = {it.arg for it in given if any(value is node for value, _ in module.given(it))}
    uses = (it for name in names for it in module.loads[name] if module.inside(it, function))
    return bool(names) and all(module.kind(each) is Kind.STRATEGY for each in uses)


def _loops(module: Module) -> Iterator[PythonLoop]:
    """Yield the loops of this program: those that no other file could hand to a strategy."""
    uses = {each: (*module.mentions[each], *module.sites[each]) for each in module.functions}
    started = (each for each in uses if None in map(module.function_of, uses[each]))
    reached = {None, *module.all_called(started)}
    for each in module.nodes:
        if isinstance(each, PythonLoop) and module.function_of(each) in reached:
            counts = module.called(getattr(each, "iter", None)) == "tf.range"
            if counts or is_repeated(module, each):
                yield each


def _called_in(module: Module, loop: PythonLoop) -> set[Function]:
    return module.all_called(module.meant(each.func) for each in module.calls_in(loop))


def _trains(module: Module, loop: PythonLoop, made: set[ast.AST]) -> bool:
    functions = _called_in(module, loop)
    if any(map(module.is_wrapped, functions)):
        return False
    calls = [call for each in (loop, *functions) for call in module.calls_in(each)]
    names = {last_name(each.func) for each in calls if isinstance(each.func, ast.Attribute)}
    updates = names & _UPDATES or {"gradient", "assign_sub"} <= names
    if not updates and not any(module.methods(Kind.OPTIMIZER, "apply")):
        return False
    taken = [each for each in calls if getattr(each.func, "attr", "") in {"gradient", "minimize"}]
    trained = [it for e in taken for it in (*e.args[1:2], *(named.value for named in e.keywords))]
    return any(made & module.ingredients(each) for each in trained)
