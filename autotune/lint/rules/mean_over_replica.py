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
    r"keras\.losses\.[a-z]\w*|tf\.nn\.\w*cross_entropy\w*"
    r"|(tf|tf\.math|keras\.ops)\.(square|squared_difference|abs)"
)
_SCALES = {"num_replicas_in_sync", "all_reduce", "merge_call", "MEAN"}
_SCALE_OPTIONS = {"experimental_aggregate_gradients", "skip_gradients_aggregation"}
_LOSS_SCALERS = {"get_scaled_loss", "scale_loss"}
_DEEPEST = 12
_SENTENCE = (
    "The loss is averaged over one replica's examples, but the optimizer sums the gradients of "
    "all replicas."
)


def _check(module: Module) -> Iterator[Hit]:
    functions = module.replica_functions | set(_keras_steps(module))
    if module.may_be_one_device or any(_scales(each) for each in functions):
        return
    seen: set[ast.AST] = set()
    for call in module.tree.calls:
        if module.tree.function_of(call) in functions and _is_gradient(module, call):
            mean = _mean_in(module, call.args[0], 0) if call.args else None
            if mean is not None and mean not in seen:
                seen.add(mean)
                yield mean, _SENTENCE


def _keras_steps(module: Module) -> Iterator[Function]:
    """Yield the train steps of the module's own models, where there is a strategy for them."""
    for function in module.tree.functions if module.strategy_scopes else ():
        owner = module.tree.parent(function)
        is_model = isinstance(owner, ast.ClassDef) and module.values.class_kind(owner) is Kind.MODEL
        if is_model and getattr(function, "name", "") == "train_step":
            yield function


def _scales(function: Function) -> bool:
    """Return whether a function may take the number of replicas into account."""
    return any(
        (isinstance(each, ast.Attribute) and each.attr in _SCALES)
        or (isinstance(each, ast.keyword) and each.arg in _SCALE_OPTIONS)
        for each in ast.walk(function)
    )


def _is_gradient(module: Module, call: ast.Call) -> bool:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr != "gradient":
        return False
    tape = func.value
    bindings = module.scopes.bindings(tape.id, tape) if isinstance(tape, ast.Name) else []
    entered = (each.value for each in bindings if each.how is How.ENTERED)
    return any(
        isinstance(each, ast.Call) and module.dotted(each.func) == "tf.GradientTape"
        for each in entered
    )


def _mean_in(module: Module, node: ast.expr, depth: int) -> ast.Call | None:
    """Return the mean over single examples that a loss is, where nothing scales it afterwards."""
    if depth > _DEEPEST:
        return None
    within: ast.expr | None = None
    match node:
        case ast.BinOp(op=ast.Add()):
            left = _mean_in(module, node.left, depth + 1)
            return left or _mean_in(module, node.right, depth + 1)
        case ast.Name():
            within = _only_value(module, node)
        case ast.Call() if module.dotted(node.func) in _MEANS:
            whole = len(node.args) == 1 and not any(each.arg == "axis" for each in node.keywords)
            return node if whole and _is_per_example(module, node.args[0], 0) else None
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _LOSS_SCALERS:
            within = first
        case ast.Call():
            function = module.meant(node.func)
            results = module.functions.returned(function) if function else []
            within = results[0] if len(results) == 1 else None
    return None if within is None else _mean_in(module, within, depth + 1)


def _is_per_example(module: Module, node: ast.expr, depth: int) -> bool:
    """Return whether a value certainly holds a number for each example, not scaled by anything."""
    if depth > _DEEPEST:
        return False
    match node:
        case ast.Name():
            value = _only_value(module, node)
            return value is not None and _is_per_example(module, value, depth + 1)
        case ast.BinOp(left, op, right):
            added = (left, right) if isinstance(op, ast.Add) else ()
            found = any(_is_per_example(module, each, depth + 1) for each in added)
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
    return isinstance(binding.node, ast.AugAssign) and isinstance(binding.node.op, ast.Add)


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
    words=((".gradient(",), ("mean",), ("strategy",)),
    check=_check,
    bad=(_BAD, _BAD_UNREDUCED),
    good=(_GOOD, _GOOD_KERAS),
)
