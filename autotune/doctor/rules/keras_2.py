"""API of Keras 2 that Keras 3, which is tf.keras since TensorFlow 2.16, does not have."""

import ast
import re

from autotune.doctor import Hits, Kind, Module, argument, last_name, rule
from autotune.doctor.edits import renamed_attribute, renamed_keyword
from autotune.doctor.rules._guards import is_guarded
from autotune.doctor.rules.old_calls import Old

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


@rule
def keras_2_call(module: Module) -> Hits:
    if module.has_keras_3:
        yield from NAMES.check(module)
        for hit in (*_calls(module), *_members(module)):
            if isinstance(hit[0], ast.expr) and not is_guarded(module, hit[0]):
                yield hit


def _calls(module: Module) -> Hits:
    for call in module.calls:
        dotted = module.dotted(call.func)
        if dotted.startswith("keras.optimizers.legacy."):
            name = dotted.rpartition(".")[2]
            yield call, f"{dotted} raises ImportError with Keras 3; use keras.optimizers.{name}."
        for keyword in call.keywords:
            today = _today(module, call, dotted, keyword.arg or "")
            if today is not None:
                then = f"use {today}" if today else "leave it out"
                edit = renamed_keyword(keyword, today) if today in _SAME_MEANING else None
                yield call, f"Keras 3 refuses the argument `{keyword.arg}`; {then}.", edit


def _today(module: Module, call: ast.Call, dotted: str, keyword: str) -> str | None:
    """Return what to write for an argument; None if it is still taken."""
    if dotted:
        owner, _, last = dotted.rpartition(".")
        found = KEYWORDS.get((dotted, keyword), KEYWORDS.get((owner, keyword)))
        return found if last[:1].isupper() else None
    if not isinstance(call.func, ast.Attribute):
        return None
    owner_kind, method = module.kind(call.func.value), call.func.attr
    wanted = Kind.OPTIMIZER if method == "apply_gradients" else Kind.MODEL
    named = owner_kind is None and wanted.name.lower() in _last(call.func.value)
    return METHOD_KEYWORDS.get((method, keyword)) if named or owner_kind is wanted else None


def _members(module: Module) -> Hits:
    defined = {getattr(each, "name", "") for each in module.functions}
    for (kind, name), today in MEMBERS.items():
        for node in () if name in defined else module.attributes[name]:
            if not module.dotted(node) and _is_owned(module, node, kind):
                edit = renamed_attribute(node, today) if today in _RENAMED else None
                yield node, f"`{ast.unparse(node)}` is missing in Keras 3; use {today}.", edit


def _is_owned(module: Module, node: ast.Attribute, kind: Kind | None) -> bool:
    found, last = module.kind(node.value), _last(node.value)
    if kind is None or found is not None:
        return kind in {None, found}
    if kind is Kind.METRIC:
        return bool(_METRIC.search(last))
    return kind is Kind.OPTIMIZER and node.attr == "lr" and last.endswith("optimizer")


def _last(node: ast.expr) -> str:
    return last_name(node.value if isinstance(node, ast.Subscript) else node).lower()


_WEIGHTS = (".weights.h5",)
_CHECKPOINTS = (".keras", ".h5")
_MODELS = (".keras", ".h5", ".hdf5")


@rule
def keras_2_file(module: Module) -> Hits:
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
