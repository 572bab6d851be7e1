"""Gradients that an optimizer of Keras 3 accumulates under a strategy of replicas."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import ONE_DEVICE, made_by
from autotune.doctor.code.under import is_conditional, strategies_over
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule


def _check(module: Module) -> Iterator[Hit]:
    for call in module.tree.calls if module.has_keras_3 else ():
        if made_by(module.dotted(call.func)) is Kind.OPTIMIZER and _accumulates(module, call):
            over = strategies_over(module, call)
            unclear = ONE_DEVICE in over and is_conditional(module, call)
            if over - {ONE_DEVICE} and not unclear:
                strategy = min(over - {ONE_DEVICE}).rpartition(".")[2]
                yield call, f"Keras 3 cannot accumulate gradients under {strategy}."


def _accumulates(module: Module, call: ast.Call) -> bool:
    steps = [each.value for each in call.keywords if each.arg == "gradient_accumulation_steps"]
    values = (module.scopes.value(each) or each for each in steps)
    return any(isinstance(each, ast.Constant) and each.value is not None for each in values)


_BAD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    optimizer = keras.optimizers.AdamW(0.001, gradient_accumulation_steps=4)  # <- here
    model.compile(optimizer, "mse")
"""

_GOOD = _BAD.replace(", gradient_accumulation_steps=4)  # <- here", ")")

_GOOD_ONE_DEVICE = _BAD.replace("MirroredStrategy()", "OneDeviceStrategy('GPU:0')").replace(
    "  # <- here", ""
)

RULE = Rule(
    name="accumulation-on-replicas",
    title="gradients accumulated by Keras 3 under a strategy of replicas",
    severity=Severity.ERROR,
    why=(
        "The update stands in a condition, where replicas cannot be merged: RuntimeError about "
        "merge_call in the first step, even with a single replica."
    ),
    instead=(
        "Use a larger batch for each replica, or sum the gradients of several batches in a loop of "
        "your own before apply_gradients; OneDeviceStrategy can accumulate."
    ),
    words=(("gradient_accumulation_steps",), ("strategy",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD, _GOOD_ONE_DEVICE),
)
