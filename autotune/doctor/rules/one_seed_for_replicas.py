"""Random numbers that are drawn on each replica, from one seed for all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.tree import Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._replicas import ask_which_it_is

_SETS = {"tf.random.set_seed", "tf.compat.v1.set_random_seed", "keras.utils.set_random_seed"}
_DRAWS = re.compile(
    r"(tf|keras)\.random\.(uniform|normal|truncated_normal|gamma|poisson|categorical|shuffle"
    r"|beta|binomial|randint|dropout)|tf\.nn\.dropout|keras\.backend\.random_\w+|tf\.image\.random_\w+"
)
_OF_A_WORKER = re.compile(r"rank|worker|task|replica|process|index|node|host|hvd|shard")


def _check(module: Module) -> Iterator[Hit]:
    functions = {*_on_replicas(module)} if not module.may_be_one_device else set()
    if not functions:
        return
    calls = [each for each in module.tree.calls if module.dotted(each.func) in _SETS]
    seeds = [each for each in calls if _is_seed(each.args[0] if each.args else None)]
    if any(_is_of_a_worker(module, each) for each in seeds):
        return
    for call in module.tree.calls:
        drawn = module.tree.function_of(call) in functions and not _is_initial(module, call)
        if not drawn or not _DRAWS.fullmatch(module.dotted(call.func)):
            continue
        own = next((each.value for each in call.keywords if each.arg == "seed"), None)
        what = f"`{ast.unparse(call.func)}`"
        if _is_seed(own):
            if own is not None and _is_constant(module, own):
                yield call, f"{what} draws the same numbers on every replica, by its own seed."
        elif seeds:
            yield (
                call,
                f"{what} draws on each replica, from the seed set in line {seeds[0].lineno}.",
            )


def _on_replicas(module: Module) -> Iterator[Function]:
    """Yield what replicas run, without what may ask which replica it is."""
    starts = [*(run.function for run in module.runs if run.function), *module.keras_steps]
    starts += filter(partial(_is_layer_call, module), module.tree.functions if starts else ())
    for start in starts:
        everything = module.graphs.all_called([start])
        if not ask_which_it_is(module, everything):
            yield from everything


def _is_layer_call(module: Module, function: Function) -> bool:
    """Return whether models call a function, and so the replicas that they are on."""
    owner = module.tree.parent(function)
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    is_layer = any(module.dotted(each).startswith("keras.") for each in bases)
    return is_layer and getattr(function, "name", "") == "call"


def _is_seed(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and node.value is None)


def _is_constant(module: Module, node: ast.expr) -> bool:
    """Return whether a seed is written out, here or where its name is assigned."""
    value = module.scopes.value(node) or node
    return isinstance(value, ast.Constant) and isinstance(value.value, int)


def _is_of_a_worker(module: Module, call: ast.Call) -> bool:
    """Return whether each worker sets a seed of its own, by the names that it is made from."""
    made_from = (each for given in call.args for each in module.flow.ingredients(given))
    names = (getattr(each, "id", getattr(each, "attr", "")) for each in made_from)
    return any(_OF_A_WORKER.search(each.lower()) for each in names)


def _is_initial(module: Module, node: ast.AST) -> bool:
    """Return whether it is the first value of a variable, which replicas agree on."""
    around = (each for each in module.tree.above(node) if isinstance(each, ast.Call))
    return any(module.kind(each) is Kind.VARIABLE for each in around)


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
tf.random.set_seed(7)


def replica_step(images):
    noise = tf.random.normal(tf.shape(images))  # <- here
    return loss_of(model(images + noise))


@tf.function
def train_step(images):
    return strategy.run(replica_step, args=(images,))
"""

_BAD_OF_ITS_OWN = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


@tf.function
def noise():
    return strategy.run(lambda: tf.random.uniform((2,), seed=3))  # <- here
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    generator = tf.random.Generator.from_seed(7)


def replica_step(images):
    noise = generator.normal(tf.shape(images))
    return loss_of(model(images + noise))


@tf.function
def train_step(images):
    return strategy.run(replica_step, args=(images,))
"""

_GOOD_STATELESS = _BAD.replace(
    "    noise = tf.random.normal(tf.shape(images))  # <- here",
    "    replica = tf.distribute.get_replica_context().replica_id_in_sync_group\n"
    "    noise = tf.random.stateless_normal(tf.shape(images), seed=(step, replica))",
)

RULE = Rule(
    name="one-seed-for-replicas",
    title="random numbers drawn on each replica from one seed",
    severity=Severity.WARNING,
    why=(
        "Whether replicas draw equal or different numbers is left to the strategy. With "
        "TensorFlow 2.21 the replicas of one MirroredStrategy draw different ones, but all "
        "workers of a MultiWorkerMirroredStrategy the same noise and dropout. An operation with a "
        "seed of its own gives all replicas the same numbers."
    ),
    instead=(
        "For different numbers draw from a tf.random.Generator that is created in the scope, or "
        "by tf.random.stateless_uniform with a seed that holds replica_id_in_sync_group; for "
        "equal ones draw outside strategy.run and pass them."
    ),
    words=(
        *((".run(", "experimental_run_v2(", "train_step"), ("seed",), ("strategy",)),
        ("random", "dropout"),
    ),
    check=_check,
    bad=(_BAD, _BAD_OF_ITS_OWN),
    good=(_GOOD, _GOOD_STATELESS),
)
