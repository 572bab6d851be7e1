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

from autotune.doctor import Function, Hits, Kind, Module, Severity, argument, last_name, mended
from autotune.doctor.rules._examples import MIRRORED

_SETS = ("tf.random.set_seed", "tf.compat.v1.set_random_seed", "keras.utils.set_random_seed")
_DRAWS = re.compile(
    r"(tf|keras)\.random\.(uniform|normal|truncated_normal|gamma|poisson|categorical|shuffle"
    r"|beta|binomial|randint|dropout)|tf\.nn\.dropout|keras\.backend\.random_\w+|tf\.image\.random_\w+"
)
_OF_A_WORKER = re.compile(r"rank|worker|task|replica|process|index|node|host|hvd|shard")


def check(module: Module) -> Hits:
    functions = _on_replicas(module) if not module.may_be_one_device else set()
    seeds = [each for each in module.calls_of(*_SETS) if each.args and _is_seed(each.args[0])]
    made_from = (it for each in seeds for given in each.args for it in module.ingredients(given))
    if not functions or any(_OF_A_WORKER.search(last_name(each).lower()) for each in made_from):
        return
    for call in module.calls:
        around = (each for each in module.above(call) if isinstance(each, ast.Call))
        is_initial = any(module.kind(each) is Kind.VARIABLE for each in around)
        if is_initial or module.function_of(call) not in functions:
            continue  # Replicas agree on the first value of a variable.
        if _DRAWS.fullmatch(module.dotted(call.func)):
            own, what = argument(call, None, "seed"), f"`{ast.unparse(call.func)}`"
            if own is not None and _is_seed(own):
                if isinstance(module.constant(own), int):
                    yield call, f"{what} draws the same numbers on every replica, by its own seed."
            elif seeds:
                line = seeds[0].lineno
                yield call, f"{what} draws on each replica, from the seed set in line {line}."


def _on_replicas(module: Module) -> set[Function]:
    """Return what replicas run, without what may ask which replica it is."""
    starts = [*(run.function for run in module.runs if run.function), *module.keras_steps]
    methods = [(each, module.class_of_method(each)) for each in module.functions if starts]
    for each, owner in methods:  # Models call their layers, on the replicas that they are on.
        bases = map(module.dotted, owner.bases if owner else ())
        if getattr(each, "name", "") == "call" and any(it.startswith("keras.") for it in bases):
            starts.append(each)
    called = [module.all_called([each]) for each in starts]
    return set().union(*(each for each in called if not module.ask_which_it_is(each)))


def _is_seed(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant) or node.value is not None


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
