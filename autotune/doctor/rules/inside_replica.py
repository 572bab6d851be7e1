"""Calls that belong around `strategy.run`, in the function that it runs on each replica."""

import ast

from autotune.code.values import DISTRIBUTING, RUNS, made_by
from autotune.doctor import Function, Hits, Kind, Module, rule
from autotune.doctor.rules.shares import is_run_again

_FOR_ALL = ("scope", "reduce", "gather", *RUNS, *DISTRIBUTING)
_ASKS = ("cross_replica_context", "get_replica_context")
_CREATED = {Kind.MODEL, Kind.OPTIMIZER, Kind.METRIC, Kind.VARIABLE}
_GENERATOR = "tf.random.Generator.from_"
_SOMETIMES = (ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.Match, ast.While)


@rule
def strategy_in_replica(module: Module) -> Hits:
    functions = module.on_replicas - module.merging_functions
    for call, _ in module.methods(Kind.STRATEGY, *_FOR_ALL):
        around = [each for each in module.above(call) if isinstance(each, ast.If | ast.IfExp)]
        asks = any(word in ast.unparse(each.test) for each in around for word in _ASKS)
        if module.function_of(call) in functions and not (asks or module.may_be_one_device):
            what = f"`{ast.unparse(call.func)}` is called on each replica"
            yield call, f"{what}, but is for all of them together."


@rule
def created_in_replica(module: Module) -> Hits:
    starts = {meant for run, meant in module.runs.items() if is_run_again(module, run)}
    for call in module.calls if starts else ():
        name = module.dotted(call.func)
        owner = module.class_of(call)
        kind = module.class_kind(owner) if owner else made_by(name)
        creates = kind in _CREATED or name.startswith(_GENERATOR)
        if creates and _is_always_run(module, call, starts, set()):
            what = f"`{ast.unparse(call.func)}` creates variables"
            yield call, f"{what} on each replica, in every step."


def _is_always_run(
    module: Module, node: ast.AST, starts: set[Function | None], passed: set[Function]
) -> bool:
    """Return whether one of some functions runs a node each time, also through calls."""
    function = module.function_of(node)
    if function is None or function in passed or module.is_wrapped(function):
        return False
    if any(isinstance(it, _SOMETIMES) for it in module.above(node) if module.inside(it, function)):
        return False
    if function in starts:
        return True
    sites = module.sites[function]
    return any(_is_always_run(module, each, starts, {*passed, function}) for each in sites)
