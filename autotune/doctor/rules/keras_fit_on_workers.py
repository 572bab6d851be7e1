"""Training by Keras 3 under a strategy that it cannot train with.

Why: Keras 3, which is tf.keras since TensorFlow 2.16, raises ValueError with several workers or
with parameter servers.

Instead: Write the loop with strategy.run, or a ClusterCoordinator for parameter servers; or install
tf_keras and set TF_USE_LEGACY_KERAS=1, with which `fit` works.
"""

import ast

from autotune.doctor import MULTI_WORKER, STRATEGIES, Hits, Kind, Module, last_name, mended
from autotune.doctor.rules._examples import WORKERS
from autotune.doctor.rules._guards import is_guarded

_SERVERS = {each for each in STRATEGIES if each.endswith("ParameterServerStrategy")}
FAILS = {
    **dict.fromkeys(MULTI_WORKER, ("fit", "evaluate", "train_on_batch", "test_on_batch")),
    **dict.fromkeys(_SERVERS, ("fit", "evaluate", "predict")),
}
"""The methods of models that fail, by the strategy."""
_METHODS = {method for methods in FAILS.values() for method in methods}
_OTHER_MODELS = ("sklearn.", "xgboost.", "lightgbm.", "catboost.", "statsmodels.")


def check(module: Module) -> Hits:
    calls = module.calls if module.has_keras_3 and module.strategies & FAILS.keys() else ()
    for call in calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            over = _strategies_of(module, func.value) if _is_model(module, func.value) else set()
            failing = {each for each in over if func.attr in FAILS.get(each, ())}
            unclear = failing < over and module.is_conditional(call)
            if failing and not unclear and not is_guarded(module, call):
                strategy = min(failing).rpartition(".")[2]
                yield call, f"Keras 3 fails in `{func.attr}` under {strategy}."


def _is_model(module: Module, node: ast.expr) -> bool:
    kind, value = module.kind(node), module.value(node)
    maker = module.dotted(value.func) if isinstance(value, ast.Call) else ""
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


BAD = f"""{WORKERS}with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    model.compile("sgd", "mse")

model.fit(dataset, epochs=3)  # <- here
"""
_KERAS_2 = 'import os\n\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n\nimport tensorflow'
GOOD = mended(BAD, "import keras\nimport tensorflow", _KERAS_2).replace("keras.", "tf.keras.")
