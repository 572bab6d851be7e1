"""Trainings of Keras 3 under strategies that it cannot train with."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import MULTI_WORKER
from autotune.doctor.code.under import is_conditional, strategies_of
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._guards import is_guarded

PARAMETER_SERVER = {
    "tf.distribute.ParameterServerStrategy",
    "tf.distribute.experimental.ParameterServerStrategy",
}
_FAIL = (
    (MULTI_WORKER, {"fit", "evaluate", "train_on_batch", "test_on_batch"}),
    (PARAMETER_SERVER, {"fit", "evaluate", "predict"}),
)
FAILS = {strategy: methods for strategies, methods in _FAIL for strategy in strategies}
"""The methods of models that fail, by the strategy."""
_METHODS = {method for methods in FAILS.values() for method in methods}
_OTHER_MODELS = ("sklearn.", "xgboost.", "lightgbm.", "catboost.", "statsmodels.")


def _check(module: Module) -> Iterator[Hit]:
    if not module.has_keras_3 or not module.strategies & FAILS.keys():
        return
    for call in module.tree.calls:
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _METHODS:
            continue
        if not _is_model(module, func.value):
            continue
        over = strategies_of(module, func.value)
        failing = {each for each in over if func.attr in FAILS.get(each, ())}
        unclear = failing < over and is_conditional(module, call)
        if failing and not unclear and not is_guarded(module, call):
            strategy = min(failing).rpartition(".")[2]
            yield call, f"Keras 3 fails in `{func.attr}` under {strategy}."


def _is_model(module: Module, node: ast.expr) -> bool:
    """Return whether a value is a model of Keras, by how it is made or, at last, by its name."""
    kind = module.kind(node)
    named = "model" in (getattr(node, "attr", "") or getattr(node, "id", "")).lower()
    value = module.scopes.value(node)
    maker = module.dotted(value.func) if isinstance(value, ast.Call) else ""
    return kind is Kind.MODEL or (kind is None and named and not maker.startswith(_OTHER_MODELS))


_BAD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    model.compile("sgd", "mse")

model.fit(dataset, epochs=3)  # <- here
"""

_GOOD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    optimizer = keras.optimizers.SGD(0.1)


@tf.function
def train_step(batch):
    strategy.run(replica_step, args=(batch,))


for batch in strategy.experimental_distribute_dataset(dataset):
    train_step(batch)
"""

_GOOD_KERAS_2 = """
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
""" + _BAD.lstrip("\n").replace("import keras\n", "").replace("keras.", "tf.keras.").replace(
    "  # <- here", ""
)

RULE = Rule(
    name="keras-fit-on-workers",
    title="training by Keras 3 under a strategy that it cannot train with",
    severity=Severity.ERROR,
    why=(
        "Keras 3, which is tf.keras since TensorFlow 2.16, raises ValueError with several workers "
        "or with parameter servers."
    ),
    instead=(
        "Write the loop with strategy.run, or a ClusterCoordinator for parameter servers; or "
        "install tf_keras and set TF_USE_LEGACY_KERAS=1, with which `fit` works."
    ),
    words=(
        ("multiworkermirroredstrategy", "parameterserverstrategy"),
        (".fit(", ".evaluate(", ".predict(", "_on_batch("),
    ),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD, _GOOD_KERAS_2),
)
