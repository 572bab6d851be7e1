"""A custom loop that gives every replica the whole batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.module import Run
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_SHARES = {"get_replica_context", "replica_id_in_sync_group", "num_replicas_in_sync"}
"""Who asks for these may take its share of a batch by itself."""
_SIZES = {"shape", "dtype"}


def _check(module: Module) -> Iterator[Hit]:
    for run in module.runs:
        values = (*_given(run.call), *_held(module, run))
        given = next((each for each in values if module.kind(each) is Kind.BATCH), None)
        if given is None or not _is_step(module, run):
            continue
        if module.may_be_one_device or _takes_its_share(module, run):
            continue
        what = ast.unparse(given)
        yield given, f"Every replica gets the whole `{what}`: its dataset is not distributed."


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call of `strategy.run` hands to the function."""
    values = [*call.args[1:], *(each.value for each in call.keywords if each.arg != "options")]
    if call.args and isinstance(call.args[0], ast.Call):
        values += call.args[0].args[1:]
    for value in values:
        if isinstance(value, ast.Tuple | ast.List):
            yield from value.elts
        elif isinstance(value, ast.Dict):
            yield from value.values
        else:
            yield value


def _held(module: Module, run: Run) -> Iterator[ast.expr]:
    """Yield the names by which the function uses what surrounds it, but for shapes and types."""
    function = run.function
    for each in module.tree.walk(function) if function else ():
        if function and isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            bindings = module.scopes.bindings(each.id, each)
            inside = any(module.tree.inside(bound.node, function) for bound in bindings)
            above = module.tree.parent(each)
            if not inside and getattr(above, "attr", "") not in _SIZES:
                yield each


def _is_step(module: Module, run: Run) -> bool:
    """Return whether it runs again and again: alone, it may be there to create the variables."""
    node: ast.AST = run.call
    for _ in range(3):
        if next(module.tree.loops_around(node), None) is not None:
            return True
        function = module.tree.function_of(node)
        sites = module.functions.sites(function) if function else []
        if len(sites) != 1:
            return any(True for site in sites for _ in module.tree.loops_around(site.call))
        node = sites[0].call
    return False


def _takes_its_share(module: Module, run: Run) -> bool:
    if run.function is None:
        return True
    return any(
        module.tree.asks_for(function, _SHARES)
        for function in module.graphs.all_called([run.function])
    )


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)


def replica_step(images, labels):
    return loss_of(model(images, training=True), labels)


@tf.function
def train_step(images, labels):
    return strategy.run(replica_step, args=(images, labels))  # <- here


for images, labels in dataset:
    train_step(images, labels)
"""

_BAD_ITERATOR = """
import tensorflow as tf


def replica_step(batch):
    return loss_of(model(batch, training=True))


@tf.function
def train(strategy, batches):
    for _ in tf.range(100):
        strategy.run(replica_step, args=(next(batches),))  # <- here


dataset = tf.data.TFRecordDataset(files).map(parse).repeat().batch(64)
train(tf.distribute.MirroredStrategy(), iter(dataset))
"""

_DISTRIBUTE = "batches = strategy.experimental_distribute_dataset(dataset)"
_GOOD = (
    _BAD.replace("  # <- here", "")
    .replace(".batch(64)", f".batch(64)\n{_DISTRIBUTE}")
    .replace("in dataset:", "in batches:")
)

_GOOD_FIT = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = make_model()
    model.compile("adam", "mse")

# Model.fit distributes by itself.
model.fit(tf.data.Dataset.from_tensor_slices((images, labels)).batch(64))
"""

RULE = Rule(
    name="dataset-not-distributed",
    title="custom loop over a dataset that is not distributed",
    severity=Severity.ERROR,
    why=(
        "strategy.run passes a plain tensor to every replica unchanged. All replicas compute the "
        "same step on the same batch: n times the work for the result of one device."
    ),
    instead=(
        "Loop over strategy.experimental_distribute_dataset(dataset), batched by the global "
        "batch size, or over strategy.distribute_datasets_from_function(dataset_fn)."
    ),
    words=((".run(", "experimental_run_v2("), ("strategy",)),
    check=_check,
    bad=(_BAD, _BAD_ITERATOR),
    good=(_GOOD, _GOOD_FIT),
)
