"""The next batch, asked for where only one replica's part of it may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.lint.code import Kind, Module
from autotune.lint.code.module import Run
from autotune.lint.report import Severity
from autotune.lint.rule import Hit, Rule


def _check(module: Module) -> Iterator[Hit]:
    seen: set[ast.Call] = set()
    for run in module.runs:
        passed = _distributed_parameters(module, run)
        for call in module.tree.calls_in(run.function) if run.function else ():
            given = _asked(call)
            if given is None or call in seen:
                continue
            by_name = isinstance(given, ast.Name) and given.id in passed
            if by_name or module.kind(given) is Kind.DISTRIBUTED:
                seen.add(call)
                yield call, f"`{ast.unparse(call)}` is called on each replica."


def _asked(call: ast.Call) -> ast.expr | None:
    """Return the iterator of which a call wants the next element."""
    if isinstance(call.func, ast.Name) and call.func.id == "next" and call.args:
        return call.args[0]
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "get_next"
    return call.func.value if is_method and isinstance(call.func, ast.Attribute) else None


def _distributed_parameters(module: Module, run: Run) -> set[str]:
    """Return the names under which the function that is run gets distributed iterators."""
    given = [each.value for each in run.call.keywords if each.arg == "args"] or run.call.args[1:2]
    values = given[0].elts if given and isinstance(given[0], ast.Tuple | ast.List) else []
    parameters = [each.arg for each in run.function.args.args] if run.function else []
    if parameters[:1] == ["self"]:
        parameters = parameters[1:]
    return {
        name
        for name, value in zip(parameters, values, strict=False)
        if module.kind(value) is Kind.DISTRIBUTED
    }


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
iterator = iter(strategy.experimental_distribute_dataset(make_dataset()))


def replica_step(iterator):
    images, labels = next(iterator)  # <- here
    return loss_of(model(images), labels)


@tf.function
def train_step(iterator):
    return strategy.run(replica_step, args=(iterator,))


train_step(iterator)
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
iterator = iter(strategy.experimental_distribute_dataset(make_dataset()))


def replica_step(batch):
    images, labels = batch
    return loss_of(model(images), labels)


@tf.function
def train_step(iterator):
    return strategy.run(replica_step, args=(next(iterator),))


train_step(iterator)
"""

RULE = Rule(
    name="next-in-replica",
    title="next batch taken inside the replica function",
    severity=Severity.ERROR,
    why=(
        "An iterator of a distributed dataset gives the batches of all replicas at once, so "
        "TensorFlow raises ValueError where one replica asks for the next."
    ),
    instead="Pass the batch: strategy.run(replica_step, args=(next(iterator),)).",
    words=((".run(", "experimental_run_v2"), ("next(", "get_next"), ("distribute",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
