"""Loss averaged over one replica's examples.

Why: The optimizer sums the gradients of all replicas. With a mean per replica the sum is too large
by the number of replicas, as if the learning rate had been multiplied by it.

Instead: Divide by the global batch size: tf.nn.compute_average_loss(losses,
global_batch_size=GLOBAL_BATCH) of a loss with reduction='none'; or use a Keras 3 loss object as it
is, which takes the replicas into account.
"""

import ast

from autotune.doctor import Hits, Module, mended
from autotune.doctor.rules import _losses as of
from autotune.doctor.rules._examples import APPLY, MIRRORED, TRAIN_STEP

_SCALES = {
    *("num_replicas_in_sync", "all_reduce", "merge_call", "MEAN"),
    *("experimental_aggregate_gradients", "skip_gradients_aggregation"),
}
_ADDS_UP = {"tf.add_n", "tf.reduce_sum", "tf.math.add_n", "tf.math.reduce_sum", "sum"}
_SUMMED = "the optimizer sums the gradients of all replicas."
_SENTENCE = f"The loss is averaged over one replica's examples, but {_SUMMED}"
_OF_MODEL = f"Every replica adds the whole of `model.losses`, and {_SUMMED}"


def check(module: Module) -> Hits:
    functions = module.replica_functions | module.keras_steps
    if module.may_be_one_device or any(_SCALES & module.names_in(each) for each in functions):
        return
    for loss in of.losses(module):
        for term in of.terms(module, loss):
            of_model = _is_of_model(module, term)
            if of_model or _is_mean(module, term):
                yield term, _OF_MODEL if of_model else _SENTENCE
                break


def _is_mean(module: Module, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return of.is_sum(module, node.left) and of.counts_one_replica(module, node.right)
    size = of.batch_of_average(module, node)
    return of.is_mean(module, node) or (size is not None and of.counts_one_replica(module, size))


def _is_of_model(module: Module, node: ast.expr) -> bool:
    match node:
        case ast.Call(func=func, args=[ast.Attribute(attr="losses")]):
            return (module.dotted(func) or ast.unparse(func)) in _ADDS_UP
    return False


BAD = f"""{MIRRORED}

def replica_step(images, labels):
    with tf.GradientTape() as tape:
        logits = model(images, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses)  # <- here
{APPLY}{TRAIN_STEP}"""
_AVERAGE = "tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)"
GOOD = mended(BAD, "tf.reduce_mean(losses)", _AVERAGE)
