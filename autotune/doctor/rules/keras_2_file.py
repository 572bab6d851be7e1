"""Names of files that Keras 3 refuses to write."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._guards import is_guarded

_WEIGHTS = (".weights.h5",)
_CHECKPOINTS = (".keras", ".h5")
_MODELS = (".keras", ".h5", ".hdf5")


def _check(module: Module) -> Iterator[Hit]:
    for call in module.tree.calls if module.has_keras_3 else ():
        path, ends = _written(module, call)
        end = _end(module, path) if path is not None else None
        if end and not end.endswith(ends) and not is_guarded(module, call):
            yield call, f"Keras 3 refuses this path: it must end in {' or '.join(ends)}."


def _written(module: Module, call: ast.Call) -> tuple[ast.expr | None, tuple[str, ...]]:
    """Return the path of what a call writes, and how it must end."""
    options = {each.arg: each.value for each in call.keywords}
    path = options.get("filepath", call.args[0] if call.args else None)
    if module.dotted(call.func) == "keras.callbacks.ModelCheckpoint":
        only_weights = options.get("save_weights_only")
        if only_weights is None:
            return path, _CHECKPOINTS
        known = only_weights.value if isinstance(only_weights, ast.Constant) else None
        return (None if known is None else path), _WEIGHTS if known else _CHECKPOINTS
    func = call.func
    if isinstance(func, ast.Attribute) and module.kind(func.value) is Kind.MODEL:
        if func.attr == "save_weights":
            return path, _WEIGHTS
        if func.attr == "save":
            return path, _MODELS
    return None, ()


def _end(module: Module, node: ast.expr) -> str | None:
    """Return how a path ends, where that is certain; `/` stands for what follows a separator."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=[*_, last]) | ast.BinOp(op=ast.Add(), right=last):
            return _end(module, last)
        case ast.Call(args=[*_, last]) if module.dotted(node.func) == "os.path.join":
            return _end(module, last)
        case ast.Call(func=ast.Attribute(attr="format", value=text)):
            return _end(module, text)
        case ast.Name():
            value = module.scopes.value(node)
            return _end(module, value) if value is not None else None
    return None


_BAD = """
import keras

checkpoint = keras.callbacks.ModelCheckpoint("checkpoints/{epoch}.ckpt")  # <- here
model = keras.Sequential([keras.layers.Dense(10)])
model.fit(dataset, callbacks=[checkpoint])
model.save_weights("weights.h5")  # <- here
model.save("saved_model")  # <- here
"""

_GOOD = """
import keras

checkpoint = keras.callbacks.ModelCheckpoint("checkpoints/{epoch}.keras")
model = keras.Sequential([keras.layers.Dense(10)])
model.fit(dataset, callbacks=[checkpoint])
model.save_weights("model.weights.h5")
model.save("model.keras")
"""

RULE = Rule(
    name="keras-2-file",
    title="path that Keras 3 refuses to write",
    severity=Severity.ERROR,
    why="Keras 3, which is tf.keras since TensorFlow 2.16, raises ValueError, after the training.",
    instead=(
        "End models in .keras and weights in .weights.h5; write a SavedModel with "
        "model.export(folder)."
    ),
    words=(("modelcheckpoint", ".save(", ".save_weights("),),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
