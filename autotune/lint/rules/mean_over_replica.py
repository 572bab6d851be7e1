"""A loss that is averaged over one replica's part of the batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.lint.code import Kind, Module
from autotune.lint.code.scopes import Binding, How
from autotune.lint.code.tree import Function
from autotune.lint.report import Severity
from autotune.lint.rule import Hit, Rule

_MEANS = {"tf.reduce_mean", "tf.math.reduce_mean", "keras.ops.mean", "keras.backend.mean"}
_SUMS = {"tf.reduce_sum", "tf.math.reduce_sum", "keras.ops.sum", "tf.cast"}
_PER_EXAMPLE = re.compile(
    r"keras\.losses\.([a-z]\w*|MSE|MAE|MAPE|MSLE|KLD)|tf\.nn\.\w*cross_entropy\w*"
    r"|(tf|tf\.math|keras\.ops)\.(square|squared_difference|abs)"
)
_SCALES = {"num_replicas_in_sync", "all_reduce", "merge_call", "MEAN"}
_SCALE_OPTIONS = {"experimental_aggregate_gradients", "skip_gradients_aggregation"}
_AVERAGES = {"tf.nn.compute_average_loss", "tf.nn.scale_regularization_loss"}
_CASTS = {"tf.cast", "float"}
_ADDS_UP = {"tf.add_n", "tf.reduce_sum", "tf.math.add_n", "tf.math.reduce_sum", "sum"}
_PER_REPLICA = re.compile(r"per_?(replica|device|gpu|worker|core)|(replica|device|gpu)_?batch")
_LOSS_SCALERS = {"get_scaled_loss", "scale_loss"}
_DEEPEST = 12
_SENTENCE = (
    "The loss is averaged over one replica's examples, but the optimizer sums the gradients of "
    "all replicas."
)
_OF_MODEL = (
    "Every replica adds the whole of `model.losses`, and the optimizer sums the gradients of all "
    "replicas."
)


def _check(module: Module) -> Iterator[Hit]:
    functions = module.replica_functions | module.keras_steps
    if module.may_be_one_device or any(_scales(each) for each in functions):
        return
    seen: set[ast.AST] = set()
    for call in module.tree.calls:
        if module.tree.function_of(call) in functions and _is_gradient(module, call):
            mean = _mean_in(module, call.args[0], 0) if call.args else None
            if mean is not None and mean not in seen:
                seen.add(mean)
                yield mean, _OF_MODEL if _is_of_model(module, mean) else _SENTENCE


def _scales(function: Function) -> bool:
    """Return whether a function may take the number of replicas into account."""
    return any(
        (isinstance(each, ast.Attribute) and each.attr in _SCALES)
        or (isinstance(each, ast.keyword) and each.arg in _SCALE_OPTIONS)
        for each in ast.walk(function)
    )


def _is_gradient(module: Module, call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "minimize":
        return module.kind(func.value) is Kind.OPTIMIZER
    if not isinstance(func, ast.Attribute) or func.attr != "gradient":
        return False
    tape = func.value
    bindings = module.scopes.bindings(tape.id, tape) if isinstance(tape, ast.Name) else []
    entered = (each.value for each in bindings if each.how is How.ENTERED)
    return any(
        isinstance(each, ast.Call) and module.dotted(each.func) == "tf.GradientTape"
        for each in entered
    )


def _mean_in(module: Module, node: ast.expr, depth: int) -> ast.expr | None:
    """Return the mean over single examples that a loss is, where nothing scales it afterwards."""
    if depth > _DEEPEST:
        return None
    if _is_mean(module, node):
        return node
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [_within(module, node)]
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
        return None
    found = (_mean_in(module, each, depth + 1) for each in parts if each is not None)
    return next((each for each in found if each is not None), None)


def _within(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the expression that another one stands for."""
    match node:
        case ast.Name():
            return _only_value(module, node) or _only_result(module, node)
        case ast.Lambda():
            return node.body
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _LOSS_SCALERS:
            return first
        case ast.Call():
            return _only_result(module, node.func)
    return None


def _is_mean(module: Module, node: ast.expr) -> bool:
    """Return whether an expression itself is a mean over one replica's examples."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _is_sum(module, node.left) and _counts_one_replica(module, node.right)
    if not isinstance(node, ast.Call):
        return False
    dotted = module.dotted(node.func)
    if dotted in _MEANS:
        whole = len(node.args) == 1 and all(map(_is_whole, node.keywords))
        return whole and _is_per_example(module, node.args[0], 0)
    sizes = (each.value for each in node.keywords if each.arg == "global_batch_size")
    divides = dotted in _AVERAGES and any(_counts_one_replica(module, each) for each in sizes)
    return divides or _is_of_model(module, node)


def _only_result(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the expression that a function of the module returns, if there is but one."""
    function = module.meant(node)
    results = module.functions.returned(function) if function else []
    return results[0] if len(results) == 1 else None


def _is_whole(option: ast.keyword) -> bool:
    """Return whether an option of a mean leaves it that of a vector as a whole."""
    axis = option.value
    return option.arg == "axis" and isinstance(axis, ast.Constant) and axis.value in {0, None}


def _is_sum(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    is_sum = module.dotted(node.func) in _SUMS and len(node.args) == 1 and not node.keywords
    return is_sum and _is_per_example(module, node.args[0], 0)


def _counts_one_replica(module: Module, node: ast.expr) -> bool:
    """Return whether a number is certainly that of one replica's examples."""
    if isinstance(node, ast.Name | ast.Attribute) and _PER_REPLICA.search(
        ast.unparse(node).lower()
    ):
        return True
    value = module.scopes.value(node) or node
    match value:
        case ast.Call(func=func, args=[given, *_]):
            name = module.dotted(func) or ast.unparse(func)
            return name == "len" or (name in _CASTS and _counts_one_replica(module, given))
        case ast.Subscript(value=shape, slice=ast.Constant(value=0)):
            return "shape" in ast.unparse(shape)
    return False


def _is_of_model(module: Module, node: ast.expr) -> bool:
    """Return whether an expression adds up the losses that a model keeps."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    name = module.dotted(node.func) or ast.unparse(node.func)
    given = node.args[0]
    kept = isinstance(given, ast.Attribute) and given.attr == "losses"
    return name in _ADDS_UP and kept


def _is_per_example(module: Module, node: ast.expr, depth: int) -> bool:
    """Return whether a value certainly holds a number for each example, not scaled by anything."""
    if depth > _DEEPEST:
        return False
    match node:
        case ast.Name():
            value = _only_value(module, node)
            return value is not None and _is_per_example(module, value, depth + 1)
        case ast.BinOp(left, op, right):
            masks = isinstance(op, ast.Mult) and "mask" in ast.unparse(node).lower()
            parts = (left, right) if masks or isinstance(op, ast.Add) else ()
            found = any(_is_per_example(module, each, depth + 1) for each in parts)
            return found or isinstance(op, ast.Pow)
        case ast.Call(func=func, args=[first, *_]) if module.dotted(func) in _SUMS:
            return _is_per_example(module, first, depth + 1)
        case ast.Call(func=func):
            plain = _PER_EXAMPLE.fullmatch(module.dotted(func))
            return bool(plain) or _is_unreduced(module, func)
    return False


def _is_unreduced(module: Module, node: ast.expr) -> bool:
    """Return whether it is a Keras loss that gives a value for each example."""
    if module.kind(node) is not Kind.LOSS:
        return False
    value = _only_value(module, node) if isinstance(node, ast.Name) else node
    options = value.keywords if isinstance(value, ast.Call) else []
    return any(each.arg == "reduction" and _is_none(each.value) for each in options)


def _is_none(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or node.value == "none"
    return isinstance(node, ast.Attribute) and node.attr == "NONE"


def _only_value(module: Module, node: ast.Name) -> ast.expr | None:
    """Return what is assigned to a name; None where that is not one thing, or is scaled later."""
    bindings = [each for each in module.scopes.bindings(node.id, node) if not _adds(each)]
    return bindings[0].plain if len(bindings) == 1 else None


def _adds(binding: Binding) -> bool:
    """Return whether a name is only added to, or masked, where it is bound again."""
    node = binding.node
    if not isinstance(node, ast.AugAssign):
        return False
    masks = isinstance(node.op, ast.Mult) and "mask" in ast.unparse(node.value).lower()
    return masks or isinstance(node.op, ast.Add)


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses)  # <- here
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
"""

_BAD_UNREDUCED = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
loss_object = keras.losses.MeanSquaredError(reduction="none")


def compute_loss(labels, predictions):
    return tf.reduce_mean(loss_object(labels, predictions))  # <- here


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = compute_loss(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
"""

_GOOD = _BAD.replace(
    "tf.reduce_mean(losses)  # <- here",
    "tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)",
)

_GOOD_KERAS = (
    _BAD_UNREDUCED.replace('(reduction="none")', "()")
    .replace(
        "loss_object =", "# A loss of Keras 3 divides by the number of replicas.\nloss_object ="
    )
    .replace("tf.reduce_mean(loss_object(labels, predictions))", "loss_object(labels, predictions)")
    .replace("  # <- here", "")
)

RULE = Rule(
    name="mean-over-replica",
    title="loss averaged over one replica's examples",
    severity=Severity.ERROR,
    why=(
        "The optimizer sums the gradients of all replicas. With a mean per replica the sum is "
        "too large by the number of replicas, as if the learning rate had been multiplied by it."
    ),
    instead=(
        "Divide by the global batch size: tf.nn.compute_average_loss(losses, "
        "global_batch_size=GLOBAL_BATCH) of a loss with reduction='none'; or use a Keras 3 loss "
        "object as it is, which takes the replicas into account."
    ),
    words=((".run(", "experimental_run_v2", "train_step"), ("gradient(", ".minimize(")),
    check=_check,
    bad=(_BAD, _BAD_UNREDUCED),
    good=(_GOOD, _GOOD_KERAS),
)
