"""Models and optimizers that are created outside the scope of a strategy."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from autotune.doctor import Hits, Kind, Module, argument, rule

_KINDS = {Kind.MODEL: "model", Kind.OPTIMIZER: "optimizer"}
_COPIES = {"keras.models.clone_model"}
_TRAINS = {"compile", "fit", "train_on_batch"}
_PLAIN = "keras.optimizers.SGD"
"""Without momentum it keeps nothing beside the weights, and works from outside as well."""
Uses = Sequence[ast.Name | ast.Attribute]


@rule
def created_outside_scope(module: Module) -> Hits:
    followed = {strategy for _, strategy in module.strategy_scopes}
    if any(each.value not in followed for each in module.attributes["scope"]):
        return  # Entered in a way that cannot be followed.
    if module.may_be_one_device or module.attributes["experimental_set_strategy"]:
        return
    if not module.strategy_scopes and not module.made_strategies:
        return
    for value, uses in (*_named(module), *_members(module)):
        kind = module.kind(value)
        use = next((how for each in uses if kind and (how := _use(module, each, kind))), None)
        if kind and use:
            yield value, f"The {_KINDS[kind]} is created outside strategy.scope(){use}."
    if module.has_keras_3:
        yield from _compiled_outside(module)


def _named(module: Module) -> Iterator[tuple[ast.expr, Uses]]:
    """Yield the named values that are made outside, with the reads of the name."""
    for scope in module.scopes:
        for name, bindings in scope.names.items():
            values = [each.plain for each in bindings]
            made = (_is_made_outside(module, each.node, each.plain) for each in bindings)
            if values[0] and all(made) and len({module.kind(it) for it in values if it}) == 1:
                loads = module.loads[name]
                yield values[0], [it for it in loads if module.bindings_of(it) is bindings]


def _members(module: Module) -> Iterator[tuple[ast.expr, Uses]]:
    """Yield the values that `self.model = ...` makes outside, once, with the reads."""
    for node in (each for found in list(module.attributes.values()) for each in found):
        statement = module.parents[node]
        assigned = isinstance(node.ctx, ast.Store) and isinstance(statement, ast.Assign)
        value = getattr(statement, "value", None) if assigned else None
        owner = module.class_of(node.value) if _is_made_outside(module, statement, value) else None
        if owner and value and len(module.member_values(owner, node.attr)) == 1:
            yield value, module.members(node)


def _is_made_outside(module: Module, statement: ast.AST, value: ast.expr | None) -> bool:
    """Return whether a call makes a model or an optimizer certainly outside of any scope."""
    if not isinstance(value, ast.Call) or not _is_outside(module, statement):
        return False
    inside = [module.class_of(value), *module.all_called([module.meant(value.func)])]
    if any(module.asks_for(each, {"scope"}) for each in inside if each):
        return False
    kind = module.kind(value)
    return kind is Kind.MODEL or (kind is Kind.OPTIMIZER and _keeps(module, value))


def _keeps(module: Module, node: ast.expr) -> bool:
    """Return whether an expression makes an optimizer that keeps more than the weights."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Constant) and str(node.value).lower() not in {"sgd", "none"}
    plain = module.dotted(node.func) == _PLAIN
    keeps = not plain or any(each.arg in {"momentum", None} for each in node.keywords)
    return module.kind(node) is Kind.OPTIMIZER and keeps


def _is_outside(module: Module, node: ast.AST) -> bool:
    """Return whether no scope can be entered when a statement runs."""
    if any(isinstance(each, ast.With | ast.AsyncWith) for each in module.above(node)):
        return False
    function = module.function_of(node)
    if function is None:
        return True
    # A function that makes the strategies itself is not run in a scope.
    makers = module.calls_of(*module.made_strategies)
    return {module.function_of(each) for each in makers} == {function}


def _use(module: Module, node: ast.Name | ast.Attribute, kind: Kind) -> str:
    """Return the use under the strategy, as the end of a sentence; empty for none."""
    if isinstance(node.ctx, ast.Load) and module.function_of(node) in module.replica_functions:
        return f", and used on its replicas in line {node.lineno}"
    if isinstance(node, ast.Attribute):
        return ""
    if module.in_strategy_scope(node) and _is_trained(module, node, kind):
        return f", and used in it in line {node.lineno}"
    fits = kind is Kind.MODEL and getattr(module.parents[node], "attr", "") == "fit"
    if fits and not module.strategy_scopes and not module.runs and _is_only_counted(module):
        return f", which is never entered, and trained in line {node.lineno}"
    return ""


def _is_trained(module: Module, node: ast.Name, kind: Kind) -> bool:
    parent = module.parents[node]
    if isinstance(parent, ast.Attribute):
        return kind is Kind.MODEL and parent.attr in _TRAINS
    around = (each for each in module.above(node) if isinstance(each, ast.Call | ast.stmt))
    call = next(around)
    if not isinstance(call, ast.Call) or module.dotted(call.func) in _COPIES:
        return False
    if kind is Kind.OPTIMIZER:
        return getattr(call.func, "attr", "") == "compile"
    return module.kind(call) is Kind.MODEL


def _is_only_counted(module: Module) -> bool:
    """Return whether every strategy has one name, and is only asked for its replicas."""
    for each in (module.parents[call] for call in module.calls_of(*module.made_strategies)):
        targets: Iterable[ast.expr] = each.targets if isinstance(each, ast.Assign) else ()
        names = [it.id for it in targets if isinstance(it, ast.Name)]
        uses = [module.parents[use] for name in names for use in module.loads[name]]
        reads = all(getattr(it, "attr", "") == "num_replicas_in_sync" for it in uses)
        if len(names) != 1 or not reads:
            return False
    return True


def _compiled_outside(module: Module) -> Hits:
    """Yield the compilations of models from the scope with an optimizer from outside."""
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
            given = argument(call, 0, "optimizer")
            bindings = module.bindings_of(call.func.value)
            inside = [each.plain and module.in_strategy_scope(each.node) for each in bindings]
            makes = inside and all(inside) and given and _keeps(module, given)
            if makes and _is_outside(module, call):
                yield call, "The model is created in strategy.scope() but compiled outside it."
