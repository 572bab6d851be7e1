"""Random numbers drawn on each replica from one seed.

Why: Whether replicas draw equal or different numbers is left to the strategy. With TensorFlow 2.21
the replicas of one MirroredStrategy draw different ones, but all workers of a
MultiWorkerMirroredStrategy the same noise and dropout. An operation with a seed of its own gives
all replicas the same numbers.

Instead: For different numbers draw from a tf.random.Generator that is created in the scope, or by
tf.random.stateless_uniform with a seed that holds replica_id_in_sync_group; for equal ones draw
outside strategy.run and pass them.
"""

import ast
import re
from collections.abc import Iterator

from autotune.doctor import Hit, Kind, Module, Severity, mended
from autotune.doctor.code import Function, argument, last_name
from autotune.doctor.rules._examples import MIRRORED

_SETS = ("tf.random.set_seed", "tf.compat.v1.set_random_seed", "keras.utils.set_random_seed")
_DRAWS = re.compile(
    r"(tf|keras)\.random\.(uniform|normal|truncated_normal|gamma|poisson|categorical|shuffle"
    r"|beta|binomial|randint|dropout)|tf\.nn\.dropout|keras\.backend\.random_\w+|tf\.image\.random_\w+"
)
_OF_A_WORKER = re.compile(r"rank|worker|task|replica|process|index|node|host|hvd|shard")


def check(module: Module) -> Iterator[Hit]:
    functions = _on_replicas(module) if not module.may_be_one_device else set()
    seeds = [each for each in module.calls_of(*_SETS) if each.args and _is_seed(each.args[0])]
    if not functions or any(_is_of_a_worker(module, each) for each in seeds):
        return
    for call in module.calls:
        if module.function_of(call) not in functions or _is_initial(module, call):
            continue
        if _DRAWS.fullmatch(module.dotted(call.func)):
            own, what = argument(call, None, "seed"), f"`{ast.unparse(call.func)}`"
            if own is not None and _is_seed(own):
                if isinstance(getattr(module.resolved(own), "value", None), int):
                    yield call, f"{what} draws the same numbers on every replica, by its own seed."
            elif seeds:
                line = seeds[0].lineno
                yield call, f"{what} draws on each replica, from the seed set in line {line}."


def _on_replicas(module: Module) -> set[Function]:
    """Return what replicas run, without what may ask which replica it is."""
    starts = [*(run.function for run in module.runs if run.function), *module.keras_steps]
    starts += [each for each in module.functions if starts and _is_layer_call(module, each)]
    called = [module.all_called([each]) for each in starts]
    return set().union(*(each for each in called if not module.ask_which_it_is(each)))


def _is_layer_call(module: Module, function: Function) -> bool:
    """Return whether models call a function, and so the replicas that they are on."""
    owner = module.class_of_method(function)
    is_layer = owner and any(module.dotted(each).startswith("keras.") for each in owner.bases)
    return bool(is_layer) and getattr(function, "name", "") == "call"


def _is_seed(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant) or node.value is not None


def _is_of_a_worker(module: Module, call: ast.Call) -> bool:
    """Return whether each worker sets a seed of its own, by the names that it is made from."""
    made_from = (each for given in call.args for each in module.ingredients(given))
    return any(_OF_A_WORKER.search(last_name(each).lower()) for each in made_from)


def _is_initial(module: Module, node: ast.AST) -> bool:
    """Return whether it is the first value of a variable, which replicas agree on."""
    around = (each for each in module.above(node) if isinstance(each, ast.Call))
    return any(module.kind(each) is Kind.VARIABLE for each in around)


_BAD = f"""{MIRRORED}tf.random.set_seed(7)


def replica_step(images):
    noise = tf.random.normal(tf.shape(images))  # <- here
    return loss_of(model(images + noise))


@tf.function
def train_step(images):
    return strategy.run(replica_step, args=(images,))
"""
SEVERITY = Severity.WARNING
BAD = (_BAD, _BAD.replace("tf.random.set_seed(7)\n", "").replace("images))", "images), seed=3)"))
GOOD = mended(_BAD, "= tf.random.normal", "= generator.normal").replace(
    "tf.random.set_seed(7)",
    "with strategy.scope():\n    generator = tf.random.Generator.from_seed(7)",
)
