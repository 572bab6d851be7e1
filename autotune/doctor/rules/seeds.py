"""Random numbers that replicas draw from one seed, and orders that workers draw without one."""

import ast
import re

from autotune.doctor import Function, Hits, Kind, Module, argument, last_name, rule

_SETS = ("tf.random.set_seed", "tf.compat.v1.set_random_seed", "keras.utils.set_random_seed")
_KERAS_SETS = ("keras.utils.set_random_seed", "random.seed")
"""The seeds of `keras.random`."""
_SETTERS = ("set_seed", "set_random_seed")
DRAWS = re.compile(
    r"(tf|keras)\.random\.(uniform|normal|truncated_normal|gamma|poisson|categorical|shuffle"
    r"|beta|binomial|randint|dropout)|tf\.nn\.dropout|keras\.backend\.random_\w+|tf\.image\.random_\w+"
)
_OF_A_WORKER = re.compile(r"rank|worker|task|replica|process|index|node|host|hvd|shard")


@rule
def one_seed_for_replicas(module: Module) -> Hits:
    functions = _on_replicas(module) if not module.may_be_one_device else set()
    for call in module.calls if functions else ():
        around = (each for each in module.above(call) if isinstance(each, ast.Call))
        is_initial = any(module.kind(each) is Kind.VARIABLE for each in around)
        if is_initial or module.function_of(call) not in functions:
            continue  # Replicas agree on the first value of a variable.
        dotted = module.dotted(call.func)
        if DRAWS.fullmatch(dotted):
            own, what = argument(call, None, "seed"), f"`{ast.unparse(call.func)}`"
            if _is_seed(own):
                if isinstance(module.constant(own), int):
                    yield call, f"{what} draws the same numbers on every replica, by its own seed."
                continue
            sets = module.calls_of(*(_KERAS_SETS if dotted.startswith("keras.random.") else _SETS))
            setter = module.order.in_force(sets, call)
            seed = argument(setter, 0, "seed", "a") if isinstance(setter, ast.Call) else None
            made_from = module.ingredients(seed) if seed and _is_seed(seed) else ()
            names = (last_name(each).lower() for each in made_from)
            if setter and made_from and not any(map(_OF_A_WORKER.search, names)):
                line = getattr(setter, "lineno", 0)
                yield call, f"{what} draws on each replica, from the seed set in line {line}."


def _on_replicas(module: Module) -> set[Function]:
    """Return the functions of replicas, without those that may ask for the replica's number."""
    run = [each for each in module.runs.values() if each]
    starts: list[Function] = [*run, *module.keras_steps]
    methods = [(each, module.class_of_method(each)) for each in module.functions if starts]
    for each, owner in methods:  # Models call their layers, on the replicas that they are on.
        bases = map(module.dotted, owner.bases if owner else ())
        if getattr(each, "name", "") == "call" and any(it.startswith("keras.") for it in bases):
            starts.append(each)
    called = [module.all_called([each]) for each in starts]
    return set().union(*(each for each in called if not module.ask_which_it_is(each)))


def _is_seed(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and node.value is None)


@rule
def random_order_then_shard(module: Module) -> Hits:
    setters = [each for each in module.calls if last_name(each.func) in _SETTERS]
    for shard, dataset in module.methods(Kind.DATASET, "shard"):
        always = {*module.conditions(shard)}
        chain = (each for each, _ in module.stages(dataset))
        stages = (each for each in chain if always.issuperset(module.conditions(each)))
        drawn = next((it for it in stages if _draws_order(module, it)), None)
        if drawn and not module.order.in_force(setters, drawn):
            what = getattr(drawn.func, "attr", "")
            yield shard, f"Each worker shards an order of its own, by `{what}` without a seed."


def _draws_order(module: Module, call: ast.Call) -> bool:
    if module.dotted(call.func) == "tf.data.Dataset.list_files":
        shuffle = argument(call, 1, "shuffle")
        shuffles = shuffle is None or getattr(shuffle, "value", None) is True
        return shuffles and not _is_seed(argument(call, 2, "seed"))
    return last_name(call.func) == "shuffle" and not _is_seed(argument(call, 1, "seed"))
