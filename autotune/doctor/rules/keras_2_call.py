"""Calls of Keras 2, which Keras 3 no longer takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.edits import renamed_attribute, renamed_keyword
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._guards import is_guarded
from autotune.doctor.rules._old_calls import Old

_LAYERS = "keras.layers"
NAMES = Old(
    names={
        "keras.experimental.": "what Keras 3 has in its place, if anything",
        "keras.experimental.CosineDecay": "keras.optimizers.schedules.CosineDecay",
        "keras.layers.experimental.": _LAYERS,
        "keras.layers.experimental.preprocessing.": _LAYERS,
        "keras.optimizers.experimental.": "keras.optimizers",
        "keras.wrappers.scikit_learn.": "keras.wrappers.SKLearnClassifier or the package scikeras",
        "keras.layers.CuDNNLSTM": "keras.layers.LSTM",
        "keras.layers.CuDNNGRU": "keras.layers.GRU",
        "keras.layers.DenseFeatures": "keras.utils.FeatureSpace",
        "keras.layers.LocallyConnected1D": "keras.layers.Conv1D",
        "keras.layers.LocallyConnected2D": "keras.layers.Conv2D",
        "keras.utils.experimental.": "strategy.distribute_datasets_from_function",
        "keras.utils.generic_utils.": "keras.utils",
        "keras.backend.learning_phase": "the argument `training`",
        "keras.backend.set_learning_phase": "the argument `training`",
        "keras.backend.set_session": "nothing, because there are no sessions",
        "keras.backend.get_session": "nothing, because there are no sessions",
    },
    methods={},
    verb="was removed with Keras 3",
)

_PY_DATASET = "the arguments of keras.utils.PyDataset"
KEYWORDS: dict[tuple[str, str], str] = {
    ("keras.optimizers", "lr"): "learning_rate",
    ("keras.callbacks.ModelCheckpoint", "period"): "save_freq",
    ("keras.callbacks.TensorBoard", "write_grads"): "",
    ("keras.layers", "batch_input_shape"): "keras.Input(batch_shape=...)",
    ("keras.layers", "time_major"): "",
    ("keras.layers.BatchNormalization", "fused"): "",
    ("keras.mixed_precision.LossScaleOptimizer", "loss_scale"): "initial_scale",
}
"""Arguments that are refused, each with what to write today, if anything."""
METHOD_KEYWORDS = {
    **{
        (method, name): _PY_DATASET
        for method in ("fit", "evaluate", "predict")
        for name in ("workers", "use_multiprocessing", "max_queue_size")
    },
    ("compile", "experimental_steps_per_execution"): "steps_per_execution",
    ("compile", "experimental_run_tf_function"): "",
    ("apply_gradients", "experimental_aggregate_gradients"): "",
}
_SAME_MEANING = {"learning_rate", "steps_per_execution"}
MEMBERS: dict[tuple[Kind | None, str], str] = {
    (Kind.METRIC, "reset_states"): "reset_state",
    (Kind.MODEL, "reset_states"): "reset_state of its layers",
    (Kind.OPTIMIZER, "lr"): "learning_rate",
    (Kind.OPTIMIZER, "minimize"): "a GradientTape and apply_gradients",
    (Kind.OPTIMIZER, "get_gradients"): "a GradientTape",
    (Kind.OPTIMIZER, "get_updates"): "apply_gradients",
    (Kind.OPTIMIZER, "get_weights"): "variables",
    (Kind.OPTIMIZER, "weights"): "variables",
    (None, "_decayed_lr"): "learning_rate",
    (None, "_create_all_weights"): "build",
    (None, "get_scaled_loss"): "scale_loss",
    (None, "get_unscaled_gradients"): "nothing, because apply_gradients unscales them",
}
"""Members that are missing, of None for any owner, each with what to write today."""
_RENAMED = {"reset_state", "learning_rate"}
_METRIC = re.compile(r"metric|loss|acc(uracy)?\b|(?<!re)mean|auc|precision|recall|iou")
"""In what people call a metric, in lower case."""


def _check(module: Module) -> Iterator[Hit]:
    if not module.has_keras_3:
        return
    yield from NAMES.check(module)
    for node, sentence, *edits in (*_calls(module), *_members(module)):
        if not is_guarded(module, node):
            yield (node, sentence, edits[0]) if edits else (node, sentence)


def _calls(module: Module) -> Iterator[Hit]:
    for call in module.tree.calls:
        dotted = module.dotted(call.func)
        if dotted.startswith("keras.optimizers.legacy."):
            name = dotted.rpartition(".")[2]
            yield call, f"{dotted} raises ImportError with Keras 3; use keras.optimizers.{name}."
        for keyword in call.keywords:
            today = _today(module, call, dotted, keyword.arg or "")
            if today is not None:
                then = f"use {today}" if today else "leave it out"
                sentence = f"Keras 3 refuses the argument `{keyword.arg}`; {then}."
                edit = (renamed_keyword(keyword, today),) if today in _SAME_MEANING else ()
                yield call, sentence, *edit


def _today(module: Module, call: ast.Call, dotted: str, keyword: str) -> str | None:
    """Return what to write for an argument; None if it is still taken."""
    for (place, name), today in KEYWORDS.items() if dotted else ():
        owner, _, last = dotted.rpartition(".")
        if name == keyword and place in {dotted, owner} and last[:1].isupper():
            return today
    if not isinstance(call.func, ast.Attribute) or dotted:
        return None
    kind = module.kind(call.func.value)
    named = _last(call.func.value)
    wanted = Kind.OPTIMIZER if call.func.attr == "apply_gradients" else Kind.MODEL
    fits = kind is wanted or (kind is None and wanted.name.lower() in named)
    return METHOD_KEYWORDS.get((call.func.attr, keyword)) if fits else None


def _members(module: Module) -> Iterator[Hit]:
    defined = {getattr(each, "name", "") for each in module.tree.functions}
    for (kind, name), today in MEMBERS.items():
        for node in () if name in defined else module.tree.attributes.get(name, ()):
            if module.dotted(node) or not _is_owned(module, node, kind):
                continue
            sentence = f"`{ast.unparse(node)}` is missing in Keras 3; use {today}."
            edit = (renamed_attribute(node, today),) if today in _RENAMED else ()
            yield node, sentence, *edit


def _is_owned(module: Module, node: ast.Attribute, kind: Kind | None) -> bool:
    found = module.kind(node.value)
    if kind is None or found is kind:
        return True
    last = _last(node.value)
    if found is not None:
        return False
    if kind is Kind.METRIC:
        return bool(_METRIC.search(last))
    return kind is Kind.OPTIMIZER and node.attr == "lr" and last.endswith("optimizer")


def _last(node: ast.expr) -> str:
    """Return the last word of a name, in lower case."""
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    return (getattr(node, "attr", "") or getattr(node, "id", "")).lower()


_BAD = """
import keras

optimizer = keras.optimizers.Adam(lr=0.001)  # <- here
accuracy = keras.metrics.SparseCategoricalAccuracy()

for epoch in range(10):
    train_epoch(model, optimizer, accuracy)
    accuracy.reset_states()  # <- here
    optimizer.lr = 0.0001  # <- here
"""

_BAD_SCALED = """
import tensorflow as tf

optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
with tf.GradientTape() as tape:
    loss = optimizer.get_scaled_loss(loss_of(model, batch))  # <- here
"""

_GOOD = """
import keras

optimizer = keras.optimizers.Adam(learning_rate=0.001)
accuracy = keras.metrics.SparseCategoricalAccuracy()

for epoch in range(10):
    train_epoch(model, optimizer, accuracy)
    accuracy.reset_state()
    optimizer.learning_rate = 0.0001
"""

_GOOD_KERAS_2 = """
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf

optimizer = tf.keras.optimizers.Adam(lr=0.001)
"""

RULE = Rule(
    name="keras-2-call",
    title="Keras 2 API, gone with Keras 3",
    severity=Severity.ERROR,
    why=(
        "tf.keras is Keras 3 since TensorFlow 2.16, and raises AttributeError, TypeError or "
        "ValueError here."
    ),
    instead=(
        "Use the replacement named in the finding; for Keras 2, install tf_keras and set "
        "TF_USE_LEGACY_KERAS=1, or name the version with --target-version."
    ),
    words=(("keras", "tensorflow"),),
    check=_check,
    bad=(_BAD, _BAD_SCALED),
    good=(_GOOD, _GOOD_KERAS_2),
)
