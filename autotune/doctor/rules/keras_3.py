"""Features that Keras 3, which is tf.keras since TensorFlow 2.16, lacks, or under a strategy."""

import ast
import re

from autotune.code.values import MULTI_WORKER, ONE_DEVICE, SERVERS, made_by
from autotune.doctor import Hits, Kind, Module, argument, last_name, rule
from autotune.doctor.rules.old_calls import API, Old, by_kind, is_guarded
from autotune.doctor.source import Edit, at_end

NAMES = Old("keras-2")
_KEYWORDS: dict[str, str] = API["keras-2"]["arguments"]
_METHOD_KEYWORDS: dict[str, str] = API["keras-2"]["arguments-of-methods"]
_SAME_MEANING = {"learning_rate", "reset_state", "steps_per_execution"}
_METRIC = re.compile(r"metric|loss|acc(uracy)?\b|(?<!re)mean|auc|precision|recall|iou")
"""In the names of metrics, in lower case."""


@rule
def keras_2_call(module: Module) -> Hits:
    if module.has_keras_3:
        yield from NAMES.check(module)
        for hit in (*_calls(module), *_members(module)):
            if not is_guarded(module, hit[0]):
                yield hit


def _calls(module: Module) -> Hits:
    for call in module.calls:
        dotted = module.dotted(call.func)
        if dotted.startswith("keras.optimizers.legacy."):
            name = dotted.rpartition(".")[2]
            yield call, f"{dotted} raises ImportError with Keras 3; use keras.optimizers.{name}."
        for keyword in call.keywords:
            name, start = keyword.arg or "", (keyword.lineno, keyword.col_offset)
            today = _today(module, call, dotted, name)
            if today is not None:
                then = f"use {today}" if today else "leave it out"
                edit = Edit(start, name, today) if today in _SAME_MEANING else None
                yield call, f"Keras 3 refuses the argument `{name}`; {then}.", edit


def _today(module: Module, call: ast.Call, dotted: str, keyword: str) -> str | None:
    """Return today's name of an argument; None if it is still taken."""
    if dotted:
        owner, _, last = dotted.rpartition(".")
        found = _KEYWORDS.get(f"{dotted}.{keyword}", _KEYWORDS.get(f"{owner}.{keyword}"))
        return found if last[:1].isupper() else None
    if not isinstance(call.func, ast.Attribute):
        return None
    owner_kind, method = module.kind(call.func.value), call.func.attr
    wanted = Kind.OPTIMIZER if method == "apply_gradients" else Kind.MODEL
    named = owner_kind is None and wanted.name.lower() in _last(call.func.value)
    fits = named or owner_kind is wanted
    return _METHOD_KEYWORDS.get(f"{method}.{keyword}") if fits else None


def _members(module: Module) -> Hits:
    defined = {getattr(each, "name", "") for each in module.functions}
    for (kind, name), today in by_kind(API["keras-2"]["members"]).items():
        for node in () if name in defined else module.attributes[name]:
            if not module.dotted(node) and _is_owned(module, node, kind):
                edit = at_end(node, name, today) if today in _SAME_MEANING else None
                yield node, f"`{ast.unparse(node)}` is missing in Keras 3; use {today}.", edit


def _is_owned(module: Module, node: ast.Attribute, kind: Kind | None) -> bool:
    found, last = module.kind(node.value), _last(node.value)
    if kind is None or found is not None:
        return kind in {None, found}
    if kind is Kind.METRIC:
        return bool(_METRIC.search(last))
    return kind is Kind.OPTIMIZER and node.attr == "lr" and last.endswith("optimizer")


def _last(node: ast.expr) -> str:
    return last_name(node.value if isinstance(node, ast.Subscript) else node).lower()


_WEIGHTS = (".weights.h5",)
_CHECKPOINTS = (".keras", ".h5")
_MODELS = (".keras", ".h5", ".hdf5")


@rule
def keras_2_file(module: Module) -> Hits:
    for call in module.calls if module.has_keras_3 else ():
        ends, path = _ends(module, call), argument(call, 0, "filepath")
        end = _end(module, path) if path and ends else None
        if end and not end.endswith(ends) and not is_guarded(module, call):
            yield call, f"Keras 3 refuses this path: it must end in {' or '.join(ends)}."


def _ends(module: Module, call: ast.Call) -> tuple[str, ...]:
    """Return the possible ends of the path that a call writes to; nothing if unknown."""
    if module.dotted(call.func) == "keras.callbacks.ModelCheckpoint":
        only_weights = argument(call, None, "save_weights_only")
        if isinstance(only_weights, ast.Constant) and only_weights.value is not None:
            return _WEIGHTS if only_weights.value else _CHECKPOINTS
        return () if only_weights else _CHECKPOINTS
    if isinstance(call.func, ast.Attribute) and module.kind(call.func.value) is Kind.MODEL:
        return {"save_weights": _WEIGHTS, "save": _MODELS}.get(call.func.attr, ())
    return ()


def _end(module: Module, node: ast.expr) -> str | None:
    """Return the certain end of a path."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=[*_, last]) | ast.BinOp(op=ast.Add(), right=last):
            return _end(module, last)
        case ast.Call(args=[*_, last]) if module.dotted(node.func) == "os.path.join":
            return _end(module, last)
        case ast.Call(func=ast.Attribute(attr="format", value=text)):
            return _end(module, text)
        case ast.Name() if value := module.value(node):
            return _end(module, value)
    return None


_FAILS = {
    **dict.fromkeys(MULTI_WORKER, ("fit", "evaluate", "train_on_batch", "test_on_batch")),
    **dict.fromkeys(SERVERS, ("fit", "evaluate", "predict")),
}
"""The methods of models that fail, by the strategy."""
_METHODS = {method for methods in _FAILS.values() for method in methods}
_OTHER_MODELS = ("sklearn.", "xgboost.", "lightgbm.", "catboost.", "statsmodels.")


@rule
def keras_fit_on_workers(module: Module) -> Hits:
    calls = module.calls if module.has_keras_3 and module.strategies & _FAILS.keys() else ()
    for call in calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            kind, maker = module.kind(func.value), module.called(module.value(func.value))
            named = kind is None and "model" in last_name(func.value).lower()
            is_model = kind is Kind.MODEL or (named and not maker.startswith(_OTHER_MODELS))
            over = _strategies_of(module, func.value) if is_model else set()
            failing = {each for each in over if func.attr in _FAILS.get(each, ())}
            strategy = _certain(module, call, failing, over)
            if strategy and not is_guarded(module, call):
                yield call, f"Keras 3 fails in `{func.attr}` under {strategy}."


@rule
def accumulation_on_replicas(module: Module) -> Hits:
    for call in module.calls if module.has_keras_3 else ():
        steps = module.constant(argument(call, None, "gradient_accumulation_steps"))
        if steps is not None and made_by(module.dotted(call.func)) is Kind.OPTIMIZER:
            over = module.strategies_over(call)
            if strategy := _certain(module, call, over - {ONE_DEVICE}, over):
                yield call, f"Keras 3 cannot accumulate gradients under {strategy}."


def _certain(module: Module, call: ast.Call, failing: set[str], over: set[str]) -> str:
    """Return the name of a strategy that fails, unless a condition may be about it."""
    unclear = failing < over and any(isinstance(it, ast.If) for it in module.above(call))
    return "" if unclear or not failing else min(failing).rpartition(".")[2]


def _strategies_of(module: Module, model: ast.expr) -> set[str]:
    """Return the dotted names of the strategies in whose scope a model may be made or used."""
    bindings = module.bindings_of(model)
    places: list[ast.AST] = [model]
    places += [each.node for each in bindings if each.value is not None and not each.is_each]
    if isinstance(model, ast.Attribute):
        places += [each for each in module.members(model) if isinstance(each.ctx, ast.Store)]
    found = set().union(*map(module.strategies_over, places))
    is_given = len(bindings) == 1 and isinstance(bindings[0].node, ast.arg)
    if not found and is_given and module.kind(model) is Kind.MODEL and module.strategy_scopes:
        return module.made_strategies
    return found
