"""What Keras 3 cannot do under some strategies."""

import ast

from autotune.doctor import (
    MULTI_WORKER,
    ONE_DEVICE,
    STRATEGIES,
    Hits,
    Kind,
    Module,
    argument,
    last_name,
    made_by,
    rule,
)
from autotune.doctor.rules.old_calls import is_guarded

_SERVERS = {each for each in STRATEGIES if each.endswith("ParameterServerStrategy")}
_FAILS = {
    **dict.fromkeys(MULTI_WORKER, ("fit", "evaluate", "train_on_batch", "test_on_batch")),
    **dict.fromkeys(_SERVERS, ("fit", "evaluate", "predict")),
}
"""The methods of models that fail, by the strategy."""
_METHODS = {method for methods in _FAILS.values() for method in methods}
_OTHER_MODELS = ("sklearn.", "xgboost.", "lightgbm.", "catboost.", "statsmodels.")


@rule
def keras_fit_on_workers(module: Module) -> Hits:
    calls = module.calls if module.has_keras_3 and module.strategies & _FAILS.keys() else ()
    for call in calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            over = _strategies_of(module, func.value) if _is_model(module, func.value) else set()
            failing = {each for each in over if func.attr in _FAILS.get(each, ())}
            unclear = failing < over and module.is_conditional(call)
            if failing and not unclear and not is_guarded(module, call):
                yield call, f"Keras 3 fails in `{func.attr}` under {_first(failing)}."


@rule
def accumulation_on_replicas(module: Module) -> Hits:
    for call in module.calls if module.has_keras_3 else ():
        steps = module.constant(argument(call, None, "gradient_accumulation_steps"))
        if steps is not None and made_by(module.dotted(call.func)) is Kind.OPTIMIZER:
            over = module.strategies_over(call)
            unclear = ONE_DEVICE in over and module.is_conditional(call)
            if over - {ONE_DEVICE} and not unclear:
                strategy = _first(over - {ONE_DEVICE})
                yield call, f"Keras 3 cannot accumulate gradients under {strategy}."


def _first(strategies: set[str]) -> str:
    return min(strategies).rpartition(".")[2]


def _is_model(module: Module, node: ast.expr) -> bool:
    kind, maker = module.kind(node), module.called(module.value(node))
    named = "model" in last_name(node).lower() and not maker.startswith(_OTHER_MODELS)
    return kind is Kind.MODEL or (kind is None and named)


def _strategies_of(module: Module, model: ast.expr) -> set[str]:
    """Return the dotted names of the strategies in whose scope a model may be made or used."""
    bindings = module.bindings_of(model)
    places: list[ast.AST] = [model]
    places += [each.node for each in bindings if each.value is not None and not each.is_each]
    if isinstance(model, ast.Attribute):
        places += [each for each in module.members(model) if isinstance(each.ctx, ast.Store)]
    found = set().union(*map(module.strategies_over, places))
    is_given = len(bindings) == 1 and isinstance(bindings[0].node, ast.arg)
    if not found and is_given and module.kind(model) is Kind.MODEL and module.strategy_scopes:
        return module.strategies & STRATEGIES
    return found
