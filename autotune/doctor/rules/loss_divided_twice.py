"""A loss that is divided by the number of replicas, or of examples, for a second time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._losses import (
    batch_of_average,
    counts_one_replica,
    is_average,
    is_mean,
    is_sum,
    last_before,
    losses,
    only_value,
    within,
)

_REPLICAS = re.compile(r"num_replicas_in_sync|n(um)?_?(of_)?(replicas|gpus)")
_GLOBAL = re.compile(r"global_?batch")
_DEEPEST = 12


def _check(module: Module) -> Iterator[Hit]:
    if module.may_be_one_device:
        return
    seen: set[ast.AST] = set()
    for loss in losses(module):
        for node in _divided_again(module, loss, 0):
            if node not in seen:
                seen.add(node)
                yield node, f"`{ast.unparse(node)}` divides a loss that is already divided."


def _divided_again(module: Module, node: ast.expr, depth: int) -> Iterator[ast.AST]:
    """Yield the divisions of a loss, or of a term of it, that come after a first one."""
    if depth > _DEEPEST:
        return
    match node:
        case ast.BinOp(left, ast.Add(), right):
            yield from _divided_again(module, left, depth + 1)
            yield from _divided_again(module, right, depth + 1)
        case ast.BinOp():
            for value, by in _divisions(module, node):
                if _is_again(module, value, by, depth + 1):
                    yield node
        case ast.Name() if change := _divided_in_place(module, node):
            yield change
        case _:
            inner = within(module, node)
            if inner is not None:
                yield from _divided_again(module, inner, depth + 1)


def _divided_in_place(module: Module, node: ast.Name) -> ast.AugAssign | None:
    """Return the statement that divides what a name holds, as `loss /= replicas`."""
    last = last_before(module, node)
    change = last.node if last else None
    if not isinstance(change, ast.AugAssign) or not isinstance(change.target, ast.Name):
        return None
    quotient = ast.BinOp(change.target, change.op, change.value)
    again = any(_is_again(module, value, by, 0) for value, by in _divisions(module, quotient))
    return change if again else None


def _divisions(module: Module, node: ast.BinOp) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what a product or quotient divides, and by what."""
    if isinstance(node.op, ast.Div):
        yield node.left, node.right
    if isinstance(node.op, ast.Mult):
        for value, factor in ((node.left, node.right), (node.right, node.left)):
            by = _share(module, factor)
            if by is not None:
                yield value, by


def _share(module: Module, node: ast.expr) -> ast.expr | None:
    """Return n, where an expression is 1 / n."""
    value = only_value(module, node) if isinstance(node, ast.Name) else node
    match value:
        case ast.BinOp(ast.Constant(value=one), ast.Div(), by) if one == 1:
            return by
    return None


def _is_again(module: Module, value: ast.expr, by: ast.expr, depth: int) -> bool:
    """Return whether a value that is divided has been divided for the same reason before."""
    counts = _counts_replicas(module, by)
    if not (counts or _counts_all(module, by)):
        return False
    return _is_divided(module, value, depth) or (not counts and _is_mean(module, value, depth))


def _is_divided(module: Module, node: ast.expr, depth: int) -> bool:
    """Return whether an expression is a loss over the examples of all replicas."""
    if depth > _DEEPEST:
        return False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return is_sum(module, node.left) and _counts_all(module, node.right)
    if is_average(module, node):
        size = batch_of_average(module, node)
        return size is None or _counts_all(module, size)
    if isinstance(node, ast.Call) and _divides_itself(module, node.func):
        return True
    inner = within(module, node)
    return inner is not None and _is_divided(module, inner, depth + 1)


def _is_mean(module: Module, node: ast.expr, depth: int) -> bool:
    """Return whether an expression is, or stands for, a mean over one replica's examples."""
    if depth > _DEEPEST or is_mean(module, node):
        return depth <= _DEEPEST
    inner = within(module, node)
    return inner is not None and _is_mean(module, inner, depth + 1)


def _divides_itself(module: Module, node: ast.expr) -> bool:
    """Return whether it is a loss of Keras 3 that nobody told how to reduce."""
    if module.kind(node) is not Kind.LOSS or not module.has_keras_3:
        return False
    made = only_value(module, node) if isinstance(node, ast.Name) else node
    options = made.keywords if isinstance(made, ast.Call) else None
    return options is not None and all(each.arg not in {"reduction", None} for each in options)


def _counts_replicas(module: Module, node: ast.expr) -> bool:
    """Return whether a number is that of the replicas."""
    match module.scopes.value(node) or node:
        case ast.Call(args=[given, *_]):
            return _counts_replicas(module, given)
        case ast.Name() | ast.Attribute() as plain:
            return bool(_REPLICAS.fullmatch(ast.unparse(plain).lower().rpartition(".")[2]))
    return False


def _counts_all(module: Module, node: ast.expr) -> bool:
    """Return whether a number is that of the examples on all replicas."""
    value = module.scopes.value(node) or node
    names = f"{ast.unparse(node)} {ast.unparse(value)}".lower()
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return bool(_REPLICAS.search(names))
    return bool(_GLOBAL.search(names)) and not counts_one_replica(module, node)


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)
        loss = loss / strategy.num_replicas_in_sync  # <- here
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
"""

_BAD_KERAS = """
import keras
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def compute_loss(labels, predictions):
    return loss_object(labels, predictions) * (1.0 / strategy.num_replicas_in_sync)  # <- here


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = compute_loss(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
"""

_GOOD = _BAD.replace("        loss = loss / strategy.num_replicas_in_sync  # <- here\n", "")

_GOOD_MEAN = _BAD.replace(
    "tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)", "tf.reduce_mean(losses)"
).replace("  # <- here", "")

RULE = Rule(
    name="loss-divided-twice",
    title="loss divided by the replicas or the batch twice",
    severity=Severity.ERROR,
    why=(
        "What the optimizer sums over the replicas is too small by the second divisor, as if the "
        "learning rate had been divided by it: training is slow or stands still, and nothing "
        "fails. tf.nn.compute_average_loss and, since Keras 3, every loss object with its default "
        "reduction take the replicas into account by themselves."
    ),
    instead="Divide once: leave out the second division.",
    words=((".run(", "experimental_run_v2", "train_step"), ("gradient(", ".minimize(")),
    check=_check,
    bad=(_BAD, _BAD_KERAS),
    good=(_GOOD, _GOOD_MEAN),
)
