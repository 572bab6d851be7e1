"""Gradients that are clipped before they are summed over the replicas."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Module
from autotune.doctor.code.tree import Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_CLIPS = {"tf.clip_by_global_norm", "tf.clip_by_norm", "tf.clip_by_value"}
_SUMS = {"all_reduce", "merge_call", "batch_reduce", "batch_reduce_to"}
_OPTIONS = {"experimental_aggregate_gradients", "skip_gradients_aggregation"}
_APPLIES = {"apply_gradients", "apply"}
_DEEPEST = 6


def _check(module: Module) -> Iterator[Hit]:
    functions = module.replica_functions
    if module.may_be_one_device or any(_sums_first(module, each) for each in functions):
        return
    if not any(module.tree.asks_for(each, _APPLIES) for each in functions):
        return
    for call in module.tree.calls:
        clips = module.dotted(call.func) in _CLIPS and module.tree.function_of(call) in functions
        if clips and call.args and _are_gradients(module, call.args[0], 0):
            what = ast.unparse(call.func)
            yield call, f"`{what}` clips one replica's gradients before they are summed."


def _sums_first(module: Module, function: Function) -> bool:
    """Return whether a function sums gradients over the replicas by itself."""
    options = {each.arg for each in module.tree.walk(function) if isinstance(each, ast.keyword)}
    return module.tree.asks_for(function, _SUMS) or bool(_OPTIONS & options)


def _are_gradients(module: Module, node: ast.expr, depth: int) -> bool:
    """Return whether a value comes from what a tape has given."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and each.attr == "gradient":
            return True
        if isinstance(each, ast.Name) and depth < _DEEPEST:
            values = {bound.value for bound in module.scopes.bindings(each.id, each)} - {None}
            if any(_are_gradients(module, value, depth + 1) for value in values if value):
                return True
    return False


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(model(images, training=True), labels)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)  # <- here
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_step(images, labels):
    strategy.run(replica_step, args=(images, labels))
"""

_GOOD = _BAD.replace(
    "    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)  # <- here",
    "    gradients = tf.distribute.get_replica_context().all_reduce('SUM', gradients)\n"
    "    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)",
)

RULE = Rule(
    name="clipped-in-replica",
    title="gradients clipped before they are summed over the replicas",
    severity=Severity.WARNING,
    why=(
        "Each replica clips its own gradients by their own norm, and the optimizer then sums "
        "them: the sum may be as many times the limit as there are replicas, and the result "
        "differs from that of one device with the same global batch."
    ),
    instead=(
        "Sum them first, by tf.distribute.get_replica_context().all_reduce('SUM', gradients), and "
        "apply what is clipped without summing it again; or give the optimizer the limit."
    ),
    words=((".run(", "experimental_run_v2"), ("clip_by_",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
