"""The next batch, asked for where only one replica's part of it may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._replicas import ask_which_it_is

_NEXT = {"get_next", "get_next_as_optional", "__next__"}


def _check(module: Module) -> Iterator[Hit]:
    seen: set[ast.AST] = set()
    for run in module.runs:
        functions = module.graphs.all_called([run.function] if run.function else [])
        shared = module.may_be_one_device or ask_which_it_is(module, functions)
        for node in (each for function in functions for each in module.tree.walk(function)):
            given, read = _asked(module, node)
            kind = module.kind(given) if given is not None and read not in seen else None
            if kind is Kind.DISTRIBUTED or (kind is Kind.DATASET and not shared):
                seen.add(read)
                what = f"`{ast.unparse(read)}` is {'read' if read is given else 'called'}"
                whole = ", of a dataset that is not distributed" if kind is Kind.DATASET else ""
                yield read, f"{what} on each replica{whole}."


def _asked(module: Module, node: ast.AST) -> tuple[ast.expr | None, ast.AST]:
    """Return the iterator of which a node wants the next element, and the place that says so."""
    if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        return node.iter, node.iter
    match node:
        case ast.Call(func=ast.Name(id="next"), args=[given, *_]):
            return None if module.scopes.bindings("next", node) else given, node
        case ast.Call(func=ast.Attribute(attr=name, value=given)) if name in _NEXT:
            return given, node
    return None, node


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

_BAD_NOT_DISTRIBUTED = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
batches = iter(tf.data.Dataset.from_tensor_slices(images).batch(64))


def replica_step():
    return loss_of(model(next(batches)))  # <- here


@tf.function
def train_step():
    return strategy.run(replica_step)
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
        "TensorFlow raises ValueError where one replica asks for the next. From an iterator of a "
        "dataset that is not distributed, each replica takes a batch in turn: nothing is copied "
        "ahead to its device, a last round that is not full fails, and every worker reads all "
        "the data. A new iterator gives every replica the same first batch."
    ),
    instead=(
        "Distribute the dataset by strategy.experimental_distribute_dataset, and pass the batch: "
        "strategy.run(replica_step, args=(next(iterator),))."
    ),
    words=((".run(", "experimental_run_v2"), ("next", "for "), ("distribute",)),
    check=_check,
    bad=(_BAD, _BAD_NOT_DISTRIBUTED),
    good=(_GOOD,),
)
