"""A loss that is averaged over one replica's part of the batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Module
from autotune.doctor.code.tree import Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._losses import (
    batch_of_average,
    counts_one_replica,
    is_mean,
    is_sum,
    losses,
    within,
)

_SCALES = {"num_replicas_in_sync", "all_reduce", "merge_call", "MEAN"}
_SCALE_OPTIONS = {"experimental_aggregate_gradients", "skip_gradients_aggregation"}
_ADDS_UP = {"tf.add_n", "tf.reduce_sum", "tf.math.add_n", "tf.math.reduce_sum", "sum"}
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
    for loss in losses(module):
        mean = _mean_in(module, loss, 0)
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


def _mean_in(module: Module, node: ast.expr, depth: int) -> ast.expr | None:
    """Return the mean over single examples that a loss is, where nothing scales it afterwards."""
    if depth > _DEEPEST:
        return None
    if _is_mean(module, node):
        return node
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [within(module, node)]
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
        return None
    found = (_mean_in(module, each, depth + 1) for each in parts if each is not None)
    return next((each for each in found if each is not None), None)


def _is_mean(module: Module, node: ast.expr) -> bool:
    """Return whether an expression itself is a mean over one replica's examples."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return is_sum(module, node.left) and counts_one_replica(module, node.right)
    size = batch_of_average(module, node)
    divides = size is not None and counts_one_replica(module, size)
    return divides or is_mean(module, node) or _is_of_model(module, node)


def _is_of_model(module: Module, node: ast.expr) -> bool:
    """Return whether an expression adds up the losses that a model keeps."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    name = module.dotted(node.func) or ast.unparse(node.func)
    given = node.args[0]
    kept = isinstance(given, ast.Attribute) and given.attr == "losses"
    return name in _ADDS_UP and kept


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
