"""Waiting for the device in every step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.steps import StepValues, step_loops
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_CONVERTING = {"float", "int", "bool", "print", "str", "repr", "format"}
_CONVERTING_METHODS = {"numpy", "item", "tolist"}
_CONVERTING_MODULES = ("numpy.", "wandb.log", "mlflow.log_metric")
_LOGGING = re.compile(r"(absl\.)?logging\.(info|warning|error|log)")
_SOMETIMES = (
    *(ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler, ast.For, ast.AsyncFor),
    *(ast.While, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
"""What stands in one of these may not be needed in every round."""


def _check(module: Module) -> Iterator[Hit]:
    for loop, steps in step_loops(module):
        values = StepValues(module, loop, steps)
        seen: set[int] = set()
        for node in module.tree.walk(loop):
            if not isinstance(node, ast.Call | ast.If) or node.lineno in seen:
                continue
            read = _reads(module, values, node) if _is_in_every_round(module, node, loop) else None
            if read is not None:
                seen.add(node.lineno)
                what = f"`{ast.unparse(read)}` reads a value in every step of the loop"
                place = node.test if isinstance(node, ast.If) else node
                yield place, f"{what} in line {loop.lineno}: Python waits for the device each time."


def _is_in_every_round(module: Module, node: ast.AST, loop: ast.AST) -> bool:
    below = node
    for each in module.tree.above(node):
        if each is loop:
            return below in getattr(loop, "body", ())
        if isinstance(each, _SOMETIMES):
            return False
        below = each
    return False


def _reads(module: Module, values: StepValues, node: ast.Call | ast.If) -> ast.expr | None:
    """Return the step's value that a call, or a condition, needs as a number, if any."""
    if isinstance(node, ast.If):
        test = node.test
        compared = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        return next((each for each in compared if values.holds(each)), None)
    func = node.func
    parts: list[ast.expr] = []
    if isinstance(func, ast.Attribute) and func.attr in _CONVERTING_METHODS:
        parts = [func.value]
    elif _converts(module, func):
        parts = [part for argument in _arguments(node) for part in _shown(argument)]
    return next((each for each in parts if _is_step_value(module, values, each)), None)


def _converts(module: Module, func: ast.expr) -> bool:
    """Return whether a function needs its arguments as numbers or texts."""
    if isinstance(func, ast.Name) and func.id in _CONVERTING:
        return not module.scopes.bindings(func.id, func)
    dotted = module.dotted(func)
    return dotted.startswith(_CONVERTING_MODULES) or bool(_LOGGING.fullmatch(dotted))


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _shown(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an argument, or the values that a text is put together from."""
    if isinstance(node, ast.JoinedStr):
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield part.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            yield from node.args
            yield from (each.value for each in node.keywords)
        else:
            yield node
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        yield from node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    elif isinstance(node, ast.Dict):
        yield from (part for each in node.values for part in _shown(each))
    else:
        yield node


def _is_step_value(module: Module, values: StepValues, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        func = node.func
        if func.attr == "result":
            return module.kind(func.value) is Kind.METRIC
    counter = isinstance(node, ast.Attribute) and node.attr == "iterations"
    if counter and isinstance(node, ast.Attribute):
        return module.kind(node.value) is Kind.OPTIMIZER
    return values.holds(node)


_STEP = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, batch)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def train_step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)
"""

_BAD = f"""{_STEP}

for batch in strategy.experimental_distribute_dataset(make_dataset()):
    loss = train_step(batch)
    print(loss.numpy())  # <- here
"""

_BAD_SUM = f"""{_STEP}

for epoch in range(10):
    total = 0.0
    for batch in strategy.experimental_distribute_dataset(make_dataset()):
        total += float(train_step(batch))  # <- here
    print(epoch, total)
"""

_GOOD = f"""{_STEP}

for step, batch in enumerate(strategy.experimental_distribute_dataset(make_dataset())):
    loss = train_step(batch)
    if step % 100 == 0:
        print(step, float(loss))
"""

_GOOD_SUM = f"""{_STEP}

for epoch in range(10):
    total = 0.0
    for batch in strategy.experimental_distribute_dataset(make_dataset()):
        total += train_step(batch)
    print(epoch, float(total))
"""

RULE = Rule(
    name="sync-every-step",
    title="device value read in every step",
    severity=Severity.WARNING,
    why=(
        "Python runs ahead and keeps the devices busy until it needs a value. Reading one in "
        "every step leaves the devices idle while the next step is prepared."
    ),
    instead=(
        "Read it every 100 steps (`if step % 100 == 0:`), or accumulate it as a tensor and read "
        "it at the end of the epoch."
    ),
    words=(("apply_gradients", ".minimize(", ".apply("),),
    check=_check,
    bad=(_BAD, _BAD_SUM),
    good=(_GOOD, _GOOD_SUM),
)
