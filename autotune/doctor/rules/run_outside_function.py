"""`strategy.run` step by step from Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.steps import is_repeated
from autotune.doctor.code.tree import Function, Loop
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule


def _check(module: Module) -> Iterator[Hit]:
    for run in () if module.is_graph_mode else module.runs:
        # What is run may be compiled by itself, and strategies then compile the whole call.
        given = run.call.args[0] if run.call.args else None
        is_model = given is not None and module.kind(given) is Kind.MODEL
        unsure = (run.function is None and not is_model) or run.compiled
        loop = None if unsure else _loop_of(module, run.call, set())
        if loop is not None:
            how = f"repeatedly from Python, by the loop in line {loop.lineno}"
            yield run.call, f"strategy.run is called {how}, outside a tf.function."


def _loop_of(module: Module, call: ast.Call, seen: set[Function]) -> Loop | None:
    function = module.tree.function_of(call)
    if not module.graphs.is_python(function):
        return None
    for loop in module.tree.loops_around(call):
        if is_repeated(module, loop):
            return loop
    if function is None or function in seen:
        return None
    seen.add(function)
    sites = (each for each in module.functions.sites(function) if not each.compiled)
    found = (_loop_of(module, site.call, seen) for site in sites)
    return next((each for each in found if each is not None), None)


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
dataset = strategy.experimental_distribute_dataset(make_dataset())


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = compute_loss(model, batch)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for batch in dataset:
    strategy.run(replica_step, args=(batch,))  # <- here
"""

_BAD_IN_A_FUNCTION = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def replica_step(batch):
    loss = compute_loss(model, batch)
    return loss


def train_step(batch):
    return strategy.run(replica_step, args=(batch,))  # <- here


def train(batches):
    for epoch in range(10):
        for batch in batches:
            loss = train_step(batch)
        print(epoch, float(loss))


train(strategy.experimental_distribute_dataset(make_dataset()))
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
batches = iter(strategy.experimental_distribute_dataset(make_dataset()))


@tf.function
def train_steps(batches):
    for _ in tf.range(100):
        strategy.run(replica_step, args=(next(batches),))


for epoch in range(10):
    train_steps(batches)
"""

_GOOD_EACH_STEP = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


@tf.function(jit_compile=False)
def train_step(batch):
    return strategy.run(replica_step, args=(batch,))


for batch in strategy.experimental_distribute_dataset(make_dataset()):
    train_step(batch)
"""

RULE = Rule(
    name="run-outside-function",
    title="strategy.run in a Python loop, outside a tf.function",
    severity=Severity.WARNING,
    why=(
        "Outside a tf.function every operation is dispatched from Python, one replica thread at "
        "a time, so the replicas run one after the other. With two replicas on a CPU a small "
        "step took 44 ms instead of 5. TPUStrategy does not support it."
    ),
    instead=(
        "Call strategy.run in a function decorated with @tf.function, and loop over tf.range in "
        "it to run several steps per call."
    ),
    words=((".run(", "experimental_run_v2("), ("strategy",)),
    check=_check,
    bad=(_BAD, _BAD_IN_A_FUNCTION),
    good=(_GOOD, _GOOD_EACH_STEP),
)
