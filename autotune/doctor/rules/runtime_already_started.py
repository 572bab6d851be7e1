"""What must come before the first operation, and comes after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import MULTI_WORKER, STRATEGIES, made_by
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

SETTINGS = {
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
_RESETS = ("_reset_context", "set_server_def")


def _check(module: Module) -> Iterator[Hit]:
    if module.is_graph_mode or any(map(module.tree.attributes.get, _RESETS)):
        return
    calls: dict[ast.AST, str] = {each: _name(module, each) for each in module.tree.calls}
    strategies = {each for each, name in calls.items() if name in STRATEGIES}
    workers = {each for each in strategies if calls[each] in MULTI_WORKER}
    settings = {each for each, name in calls.items() if name in SETTINGS}
    if not workers and not settings:
        return
    operations = {each for each, name in calls.items() if _starts(module, name)}
    operations |= {each for each, _ in module.methods(Kind.MODEL, *_METHODS)}
    if _may_lack_tensorflow(module):
        operations = {each for each in operations if calls[each].startswith("tf.")}
    # Who shows one strategy after the other has no cluster, where all of this works.
    alone = workers - module.order.after(strategies, workers).keys()
    late = module.order.after(strategies, settings)
    # The guide to GPUs catches the error in each of its settings, of which it shows several.
    wants = {each for each in settings | alone if not _is_caught(module, each)}
    late |= module.order.after(operations, wants - late.keys())
    for call, first in late.items():
        what, line = calls[call].rpartition(".")[2], getattr(first, "lineno", 0)
        yield call, f"{what} is called after line {line} has started TensorFlow's runtime."


def _name(module: Module, call: ast.AST) -> str:
    dotted = module.dotted(call.func) if isinstance(call, ast.Call) else ""
    return dotted.replace("tf.compat.v1.", "tf.")


def _starts(module: Module, name: str) -> bool:
    """Return whether a call of that name runs an operation, or asks for the runtime's devices."""
    kind = made_by(name) if name.startswith("tf.") or module.has_keras_3 else None
    return kind in _KINDS or bool(_STARTS.fullmatch(name))


def _may_lack_tensorflow(module: Module) -> bool:
    """Return whether another backend of Keras may compute."""
    nodes = module.tree.walk(module.tree.root)
    return any(isinstance(each, ast.Constant) and each.value == "KERAS_BACKEND" for each in nodes)


def _is_caught(module: Module, node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Try)
        and any(
            handler.type is None or _CATCHES & set(re.findall(r"\w+", ast.unparse(handler.type)))
            for handler in each.handlers
        )
        for each in module.tree.above(node)
    )


_BAD = """
import tensorflow as tf

weights = tf.constant([0.2, 0.8])
tf.config.threading.set_intra_op_parallelism_threads(4)  # <- here
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)  # <- here
"""

_BAD_STRATEGY = """
import tensorflow as tf


def main():
    dataset = tf.data.Dataset.from_tensor_slices(images).batch(64)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # <- here
    train(strategy, dataset)


main()
"""

_GOOD = """
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(4)
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
dataset = tf.data.Dataset.from_tensor_slices(images).batch(64)
"""

RULE = Rule(
    name="runtime-already-started",
    title="set-up after TensorFlow's runtime has started",
    severity=Severity.ERROR,
    why=(
        "Threads, devices and the cluster of MultiWorkerMirroredStrategy are fixed when the first "
        "operation runs or a strategy is created, and RuntimeError is raised afterwards; "
        "constants, variables, datasets, optimizers and metrics are operations."
    ),
    instead=(
        "Configure threads and devices first, then create the strategy, then everything else."
    ),
    words=(
        ("set_", "multiworkermirroredstrategy"),
        ("parallelism_threads", "device", "memory_growth", "multiworkermirroredstrategy"),
    ),
    check=_check,
    bad=(_BAD, _BAD_STRATEGY),
    good=(_GOOD,),
)
