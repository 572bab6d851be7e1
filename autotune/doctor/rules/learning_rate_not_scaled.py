"""A batch that grows with the replicas, and a learning rate that does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_COUNTS = {"num_replicas_in_sync", "num_replicas", "num_gpus", "n_replicas", "replicas", "hvd"}
_RATE = re.compile(r"learning_?rate|(?<![a-z])lr(?![a-z])|schedul|warm_?up")


def _check(module: Module) -> Iterator[Hit]:
    if module.may_be_one_device or not any(map(_scales_batch, _products(module))):
        return
    if any(_is_about_rate(module, each) for each in _counts(module)):
        return
    for call in module.tree.calls:
        rate = _constant_rate(module, call)
        if rate is not None:
            value = ast.unparse(rate)
            yield rate, f"The learning rate stays {value} while the batch grows with the replicas."


def _products(module: Module) -> Iterator[ast.BinOp]:
    for node in _counts(module):
        parent = module.tree.parent(node)
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
            yield parent


def _counts(module: Module) -> Iterator[ast.expr]:
    yield from module.tree.attributes.get("num_replicas_in_sync", ())
    for name in module.scopes.root.names:
        if name.lower() in _COUNTS:
            yield from module.tree.loads.get(name, ())


def _scales_batch(product: ast.BinOp) -> bool:
    return "batch" in ast.unparse(product).lower()


def _is_about_rate(module: Module, node: ast.expr) -> bool:
    """Return whether a statement that counts replicas sets a learning rate."""
    above = (each for each in module.tree.above(node) if isinstance(each, ast.stmt))
    statement = next(above, None)
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return):
        return False
    return bool(_RATE.search(ast.unparse(statement).lower()))


def _constant_rate(module: Module, call: ast.Call) -> ast.expr | None:
    """Return the learning rate of an optimizer that is made with a number."""
    if not module.dotted(call.func) or module.kind(call) is not Kind.OPTIMIZER:
        return None
    named = [each.value for each in call.keywords if each.arg in {"learning_rate", "lr"}]
    given = [*named, *call.args[:1]]
    rate = given[0] if given else None
    value = module.scopes.value(rate) if isinstance(rate, ast.Name) else rate
    is_number = isinstance(value, ast.Constant) and isinstance(value.value, float)
    return rate if is_number else None


_BAD = """
import keras
import tensorflow as tf

BATCH_PER_REPLICA = 64
strategy = tf.distribute.MirroredStrategy()
global_batch = BATCH_PER_REPLICA * strategy.num_replicas_in_sync
dataset = make_dataset().batch(global_batch)

with strategy.scope():
    model = make_model()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")  # <- here
"""

_GOOD = _BAD.replace(
    "SGD(0.1, momentum=0.9)", "SGD(0.1 * strategy.num_replicas_in_sync, momentum=0.9)"
).replace("  # <- here", "")

RULE = Rule(
    name="learning-rate-not-scaled",
    title="learning rate constant while the batch grows with the replicas",
    severity=Severity.WARNING,
    why=(
        "With more replicas the steps become fewer while each is as long as before, so the model "
        "learns less from the same data, and another number of devices gives another result."
    ),
    instead=(
        "Scale it with the global batch, with a warm-up where that makes it large, or hold the "
        "global batch fixed."
    ),
    words=(("num_replicas_in_sync",), ("batch",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
