"""Random operations before a cache, which keeps the numbers of the first epoch."""

import ast
import re

from autotune.code.values import Entered
from autotune.doctor import Hits, Module, argument, arguments, last_name, rule
from autotune.doctor.rules.seeds import DRAWS

_MAPS = {"map", "flat_map", "interleave"}
_ALSO_DRAWS = re.compile(
    r"tf\.image\.sample_distorted_bounding_box|tensorflow_addons\.image\.random_\w+"
)
_LAYERS = re.compile(
    r"(keras(_cv|_hub)?\.layers\.((experimental\.)?preprocessing\.)?|albumentations\.)"
    r"(Random\w+|RandAugment|AugMix|MixUp|CutMix|GridMask|Gaussian(Noise|Dropout)|(Alpha)?Dropout"
    r"|(Horizontal|Vertical)?Flip|ShiftScaleRotate|Rotate)"
)
_GENERATORS = re.compile(r"tf\.random\.(Generator(\.from_\w+)?|get_global_generator)")
_PYTHON_CALLS = {"tf.py_function", "tf.numpy_function"}
_PYTHON_DRAWS = re.compile(
    r"numpy\.random\.(?!seed|default_rng|RandomState)\w+"
    r"|random\.(random|uniform|gauss|rand(int|range)|choices?|sample|shuffle)"
)
_PYTHON_GENERATORS = re.compile(r"numpy\.random\.(default_rng|RandomState)|random\.Random")
_KEPT = re.compile(r"(^|_)(val|valid|validation|test|eval|dev)(_|$)")
"""In the name of a dataset that is meant to stay as it is."""


@rule
def random_before_cache(module: Module) -> Hits:
    for call in module.calls:
        match call:
            case ast.Call(func=ast.Attribute(value=dataset, attr="cache") as func):
                statement = module.statement_of(call)
                targets = statement.targets if isinstance(statement, ast.Assign) else []
                kept = any(_KEPT.search(last_name(each).lower()) for each in targets)
                if not kept and (draw := _drawn(module, call, dataset)):
                    what = f"`{ast.unparse(draw)}` has drawn in line {draw.lineno}"
                    name = ast.Name("cache", ast.Load())
                    name.lineno, name.end_lineno = func.end_lineno or 1, call.end_lineno
                    name.col_offset = (func.end_col_offset or 0) - len(func.attr)
                    name.end_col_offset = call.end_col_offset
                    yield name, f"`cache` keeps what {what}: every epoch gets the same."


def _drawn(module: Module, cache: ast.Call, dataset: ast.expr) -> ast.expr | None:
    """Return the operation or layer that draws anew each time, before a dataset is cached."""
    stages = [*module.stages(dataset)]
    for index, (stage, entered) in enumerate(stages):
        if last_name(stage.func) in _MAPS and stage.args and _meet(module, cache, stage, entered):
            numbers = module.called(stages[-1][0]) == "tf.data.Dataset.range"
            first = all(last_name(each.func) not in _MAPS for each, _ in stages[index + 1 :])
            named = [
                it.node for it in module.origins(stage.args[0]) if isinstance(it.node, ast.expr)
            ]
            draw = next(filter(None, (_draw(module, each) for each in named)), None)
            # Numbers drawn for a range are the data themselves, which may be meant to stay.
            if draw and not (numbers and first and "image" not in module.dotted(draw)):
                return draw
    return None


def _meet(module: Module, cache: ast.Call, stage: ast.Call, entered: Entered) -> bool:
    """Return whether a stage runs wherever a cache does, or the other way round."""
    if not module.agree(cache, stage):
        return False
    first, second = dict(module.conditions(cache)), dict(module.conditions(stage))
    if module.function_of(cache) is module.function_of(stage):
        return not (first.keys() - second.keys() and second.keys() - first.keys())
    # Elsewhere it runs where each condition is a parameter for which a call gives something true.
    given = [module.given_by(entered, each.test) for each in second]
    return all(second.values()) and all(any(map(module.constant, each)) for each in given)


def _draw(module: Module, given: ast.expr) -> ast.expr | None:
    """Return the operation or layer that draws in a function that is given to `map`."""
    if module.called(given) == "functools.partial" and isinstance(given, ast.Call):
        given = given.args[0] if given.args else given
    function = module.meant(given) or module.method(module.class_of(given), "call")
    if function is None:
        return given if _draws(module, given) or _is_random(module, given) else None
    taken = {each.arg for each in module.walk(function.args) if isinstance(each, ast.arg)}
    if not any(module.inside(it, function) for each in taken for it in module.loads[each]):
        return None  # It makes data of nothing.
    functions = module.all_called([function])
    found = {call for each in functions for call in module.calls_in(each)}
    own = (module.method(module.class_of(each.func), "call") for each in found)
    found |= {call for each in own if each for call in module.calls_in(each)}
    python = [argument(each, 0, "func") for each in found if module.called(each) in _PYTHON_CALLS]
    in_python = module.all_called(map(module.meant, python))
    for call in sorted(found, key=module.position):
        training = argument(call, 1, "training")
        on = training is None or module.constant(training) is True
        if _draws(module, call.func) or (on and _is_random(module, call.func)):
            return call.func
        of_generator = _is_made_by(module, call.func, _PYTHON_GENERATORS)
        drawn = of_generator or _PYTHON_DRAWS.fullmatch(module.dotted(call.func))
        if drawn and module.function_of(call) in in_python:
            return call.func
    return None


def _draws(module: Module, func: ast.expr) -> bool:
    dotted = module.dotted(func).replace("tf.compat.v1.", "tf.")
    known = DRAWS.fullmatch(dotted) or _ALSO_DRAWS.fullmatch(dotted)
    return bool(known) or _is_made_by(module, func, _GENERATORS)


def _is_made_by(module: Module, func: ast.expr, names: re.Pattern[str]) -> bool:
    """Return whether a method belongs to the result of a call of such a name."""
    makers = module.origins(func.value) if isinstance(func, ast.Attribute) else ()
    return any(names.fullmatch(module.called(part.node)) for part in makers)


def _is_random(module: Module, layer: ast.expr) -> bool:
    """Return whether a layer, or a model of layers, draws where it is called."""
    if module.dotted(layer) or not any(_LAYERS.fullmatch(module.called(it)) for it in module.calls):
        return False
    bindings = module.bindings_of(layer)
    adds = module.attributes["add"] if bindings else ()
    added = (module.parents[it] for it in adds if module.bindings_of(it.value) is bindings)
    parts = [layer, *(it for each in added if isinstance(each, ast.Call) for it in arguments(each))]
    made_from = (each for part in parts for each in module.ingredients(part))
    return any(_LAYERS.fullmatch(module.called(each)) for each in made_from)
