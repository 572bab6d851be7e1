"""Loss divided by the replicas or the batch twice.

Why: What the optimizer sums over the replicas is too small by the second divisor, as if the
learning rate had been divided by it: training is slow or stands still, and nothing fails.
tf.nn.compute_average_loss and, since Keras 3, every loss object with its default reduction take the
replicas into account by themselves.

Instead: Divide once: leave out the second division.
"""

import ast
import re
from collections.abc import Iterator

from autotune.doctor import Hits, Kind, Module, mended
from autotune.doctor.rules import _losses as of
from autotune.doctor.rules._examples import APPLY, MIRRORED, TRAIN_STEP

_REPLICAS = re.compile(r"num_replicas_in_sync|n(um)?_?(of_)?(replicas|gpus)")
_GLOBAL = re.compile(r"global_?batch")


def check(module: Module) -> Hits:
    for loss in of.losses(module) if not module.may_be_one_device else ():
        for node in (each for term in of.terms(module, loss) for each in _divisions(module, term)):
            yield node, f"`{ast.unparse(node)}` divides a loss that is already divided."


def _divisions(module: Module, node: ast.expr) -> Iterator[ast.AST]:
    """Yield where a term of a loss is divided again: there, or in place, as `loss /= replicas`."""
    if isinstance(node, ast.BinOp) and _divides_again(module, node.left, node.op, node.right):
        yield node
    last = of.last_binding(module, node) if isinstance(node, ast.Name) else None
    match last.node if last else None:
        case ast.AugAssign(target=ast.Name() as target, op=op, value=value) as change:
            if _divides_again(module, target, op, value):
                yield change


def _divides_again(module: Module, left: ast.expr, op: ast.operator, right: ast.expr) -> bool:
    if isinstance(op, ast.Div):
        return _is_again(module, left, right)
    if not isinstance(op, ast.Mult):
        return False
    shares = [(left, _share(module, right)), (right, _share(module, left))]
    return any(_is_again(module, value, by) for value, by in shares if by)


def _share(module: Module, node: ast.expr) -> ast.expr | None:
    """Return n, where an expression is 1 / n."""
    match of.only_value(module, node) if isinstance(node, ast.Name) else node:
        case ast.BinOp(ast.Constant(value=1), ast.Div(), by):
            return by
    return None


def _is_again(module: Module, value: ast.expr, by: ast.expr) -> bool:
    """Return whether a value that is divided has been divided for the same reason before."""
    counts = _counts_replicas(module, by)
    if not counts and not _counts_all(module, by):
        return False
    whole = [*of.terms(module, value, sums=False)]
    divided = any(_is_divided(module, each) for each in whole)
    return divided or (not counts and any(of.is_mean(module, each) for each in whole))


def _is_divided(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return of.is_sum(module, node.left) and _counts_all(module, node.right)
    if of.is_average(module, node):
        size = of.batch_of_average(module, node)
        return size is None or _counts_all(module, size)
    return isinstance(node, ast.Call) and _divides_itself(module, node.func)


def _divides_itself(module: Module, node: ast.expr) -> bool:
    """Return whether it is a loss of Keras 3 without a given reduction."""
    made = of.only_value(module, node) if isinstance(node, ast.Name) else node
    if module.kind(node) is not Kind.LOSS or not module.has_keras_3:
        return False
    return isinstance(made, ast.Call) and not {"reduction", None} & {it.arg for it in made.keywords}


def _counts_replicas(module: Module, node: ast.expr) -> bool:
    match module.resolved(node):
        case ast.Call(args=[given, *_]):
            return _counts_replicas(module, given)
        case ast.Name() | ast.Attribute() as plain:
            return bool(_REPLICAS.fullmatch(ast.unparse(plain).lower().rpartition(".")[2]))
    return False


def _counts_all(module: Module, node: ast.expr) -> bool:
    value = module.resolved(node)
    names = f"{ast.unparse(node)} {ast.unparse(value)}".lower()
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return bool(_REPLICAS.search(names))
    return bool(_GLOBAL.search(names)) and not of.counts_one_replica(module, node)


_DIVIDES = "        loss = loss / strategy.num_replicas_in_sync  # <- here\n"
_BAD = f"""{MIRRORED}

def replica_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)
{_DIVIDES}{APPLY}{TRAIN_STEP}"""

_BAD_KERAS = f"""{MIRRORED}loss_object = keras.losses.MeanSquaredError()


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_object(labels, model(images, training=True))
{_DIVIDES}{APPLY}{TRAIN_STEP}"""
BAD = (_BAD, _BAD_KERAS)
GOOD = mended(_BAD, _DIVIDES, "")
