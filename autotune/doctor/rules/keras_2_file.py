"""Path that Keras 3 refuses to write.

Why: Keras 3, which is tf.keras since TensorFlow 2.16, raises ValueError, after the training.

Instead: End models in .keras and weights in .weights.h5; write a SavedModel with
model.export(folder).
"""

import ast

from autotune.doctor import Hits, Kind, Module, argument, mended
from autotune.doctor.rules._guards import is_guarded

_WEIGHTS = (".weights.h5",)
_CHECKPOINTS = (".keras", ".h5")
_MODELS = (".keras", ".h5", ".hdf5")


def check(module: Module) -> Hits:
    for call in module.calls if module.has_keras_3 else ():
        ends, path = _ends(module, call), argument(call, 0, "filepath")
        end = _end(module, path) if path and ends else None
        if end and not end.endswith(ends) and not is_guarded(module, call):
            yield call, f"Keras 3 refuses this path: it must end in {' or '.join(ends)}."


def _ends(module: Module, call: ast.Call) -> tuple[str, ...]:
    """Return how the path of what a call writes must end; nothing if that is not known."""
    if module.dotted(call.func) == "keras.callbacks.ModelCheckpoint":
        only_weights = argument(call, None, "save_weights_only")
        if isinstance(only_weights, ast.Constant) and only_weights.value is not None:
            return _WEIGHTS if only_weights.value else _CHECKPOINTS
        return () if only_weights else _CHECKPOINTS
    if isinstance(call.func, ast.Attribute) and module.kind(call.func.value) is Kind.MODEL:
        return {"save_weights": _WEIGHTS, "save": _MODELS}.get(call.func.attr, ())
    return ()


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
        case ast.Name() if value := module.value(node):
            return _end(module, value)
    return None


BAD = """
import keras

checkpoint = keras.callbacks.ModelCheckpoint("checkpoints/{epoch}.ckpt")  # <- here
model = keras.Sequential([keras.layers.Dense(10)])
model.fit(dataset, callbacks=[checkpoint])
model.save_weights("weights.h5")  # <- here
"""
GOOD = mended(mended(BAD, ".ckpt", ".keras"), "weights.h5", "model.weights.h5")
