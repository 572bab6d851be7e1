"""Steps that come too late at the start of a program: set-up of the runtime, and TF_CONFIG."""

import ast
import re

from autotune.code.values import ANY_STRATEGY
from autotune.doctor import MULTI_WORKER, Hits, Kind, Module, argument, made_by, rule
from autotune.doctor.rules.old_calls import is_caught

_SETTINGS = {
    *(f"tf.config.threading.set_{which}_op_parallelism_threads" for which in ("inter", "intra")),
    *("tf.config.set_visible_devices", "tf.config.experimental.set_visible_devices"),
    *("tf.config.set_logical_device_configuration", "tf.config.experimental.set_memory_growth"),
    "tf.config.experimental.set_virtual_device_configuration",
}
_STARTS = re.compile(
    r"tf\.(constant|zeros|ones|fill|eye|range|linspace|convert_to_tensor|Variable|device"
    r"|config\.(experimental\.)?list_logical_devices"
    r"|random\.(uniform|normal|truncated_normal|stateless_\w+|Generator\.from_\w+))"
    r"|keras\.(Variable|random\.\w+|applications\.(\w+\.)?[A-Z]\w*|(models|saving)\.load_model)"
    r"|tensorflow_datasets\.load"
)
_KINDS = {Kind.DATASET, Kind.OPTIMIZER, Kind.METRIC}
_METHODS = ("compile", "fit", "evaluate", "predict")
_CATCHES = {"RuntimeError", "Exception", "BaseException"}
_KEY = "TF_CONFIG"
_STARTS_PROCESSES = {"subprocess", "multiprocessing", "Popen", "Process", "system", "fork"}
_WRITES = {f"os.{name}" for name in ("environ.update", "environ.setdefault", "putenv")}


@rule
def runtime_already_started(module: Module) -> Hits:
    resets = module.attributes["_reset_context"] or module.attributes["set_server_def"]
    if module.is_graph_mode or resets:
        return
    calls: dict[ast.AST, str] = {
        each: module.dotted(each.func).replace("tf.compat.v1.", "tf.") for each in module.calls
    }
    named = ((each, name) for each, name in calls.items() if made_by(name) is Kind.STRATEGY)
    strategies = {each for each, name in named if name not in ANY_STRATEGY}
    workers = {each for each in strategies if calls[each] in MULTI_WORKER}
    settings = {each for each, name in calls.items() if name in _SETTINGS}
    if not workers and not settings:
        return
    keras_3 = module.has_keras_3
    kinds = {it: made_by(it) if keras_3 or it[:3] == "tf." else None for it in calls.values()}
    operations = {
        it for it, name in calls.items() if kinds[name] in _KINDS or _STARTS.fullmatch(name)
    }
    operations |= {each for each, _ in module.methods(Kind.MODEL, *_METHODS)}
    if module.written("KERAS_BACKEND"):
        # Another backend of Keras may compute.
        operations = {each for each in operations if calls[each].startswith("tf.")}
    # A program that shows one strategy after the other has no cluster, and works.
    alone = workers - module.order.after(strategies, workers).keys()
    late = module.order.after(strategies, settings)
    # The guide to GPUs catches the error in each of its settings, of which it shows several.
    wants = {each for each in settings | alone if not is_caught(module, each, _CATCHES)}
    late |= module.order.after(operations, wants - late.keys())
    for call, first in late.items():
        what, line = calls[call].rpartition(".")[2], getattr(first, "lineno", 0)
        alike = {each for each in settings - {call} if _key(calls, each) == _key(calls, call)}
        before = module.order.in_force(alike, call)
        if before and ast.dump(before) == ast.dump(call):
            continue  # What is in force already may be set again.
        yield call, f"{what} is called after line {line} has started TensorFlow's runtime."


@rule
def tf_config_after_strategy(module: Module) -> Hits:
    mentions: set[ast.AST] = {*filter(None, map(module.statement_of, module.written(_KEY)))}
    writes = {each for each in mentions if _writes(module, each)}
    if len(writes) != 1 or _STARTS_PROCESSES & {*module.loads, *module.attributes}:
        return
    made = module.calls_of(*MULTI_WORKER)
    strategies: set[ast.AST] = {*made}
    for call in made:
        given = filter(None, (*call.args, argument(call, None, "cluster_resolver")))
        if any("TFConfig" not in ast.unparse(module.resolved(each)) for each in given):
            strategies.remove(call)
    if any(module.order.in_force(writes, each) for each in strategies):
        return
    # A program that read it before puts it back, or changes it for another process.
    known = module.order.after(mentions - writes, writes)
    for write, strategy in module.order.after(strategies, writes - {*known}).items():
        how = f"which line {getattr(strategy, 'lineno', 0)} creates"
        yield write, f"TF_CONFIG is set after the strategy that reads it, {how}."


def _key(calls: dict[ast.AST, str], call: ast.AST) -> tuple[str, list[str]]:
    """Return the setting of a call: its name and, before the value, the device."""
    return calls[call], [*map(ast.dump, getattr(call, "args", ())[:-1])]


def _writes(module: Module, statement: ast.AST) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=place, slice=ast.Constant(value=key))]):
            empty = isinstance(statement.value, ast.Constant) and not statement.value.value
            return key == _KEY and module.dotted(place) == "os.environ" and not empty
        case ast.AugAssign(target=target):
            return module.dotted(target) == "os.environ"
        case ast.Expr(value=call):
            return module.called(call) in _WRITES
    return False
