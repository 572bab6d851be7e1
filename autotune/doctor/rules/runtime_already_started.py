"""set-up after TensorFlow's runtime has started.

Why: Threads, devices and the cluster of MultiWorkerMirroredStrategy are fixed when the first
operation runs or a strategy is created, and RuntimeError is raised afterwards; constants,
variables, datasets, optimizers and metrics are operations.

Instead: Configure threads and devices first, then create the strategy, then everything else.
"""

import ast
import re

from autotune.doctor import MULTI_WORKER, STRATEGIES, Hits, Kind, Module, made_by, mended
from autotune.doctor.rules._guards import is_caught

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


def check(module: Module) -> Hits:
    resets = module.attributes["_reset_context"] or module.attributes["set_server_def"]
    if module.is_graph_mode or resets:
        return
    calls: dict[ast.AST, str] = {
        each: module.dotted(each.func).replace("tf.compat.v1.", "tf.") for each in module.calls
    }
    strategies = {each for each, name in calls.items() if name in STRATEGIES}
    workers = {each for each in strategies if calls[each] in MULTI_WORKER}
    settings = {each for each, name in calls.items() if name in SETTINGS}
    if not workers and not settings:
        return
    operations = {each for each, name in calls.items() if _starts(module, name)}
    operations |= {each for each, _ in module.methods(Kind.MODEL, *_METHODS)}
    if any(getattr(each, "value", None) == "KERAS_BACKEND" for each in module.nodes):
        # Another backend of Keras may compute.
        operations = {each for each in operations if calls[each].startswith("tf.")}
    # Who shows one strategy after the other has no cluster, where all of this works.
    alone = workers - module.order.after(strategies, workers).keys()
    late = module.order.after(strategies, settings)
    # The guide to GPUs catches the error in each of its settings, of which it shows several.
    wants = {each for each in settings | alone if not is_caught(module, each, _CATCHES)}
    late |= module.order.after(operations, wants - late.keys())
    for call, first in late.items():
        what, line = calls[call].rpartition(".")[2], getattr(first, "lineno", 0)
        yield call, f"{what} is called after line {line} has started TensorFlow's runtime."


def _starts(module: Module, name: str) -> bool:
    """Return whether a call of that name runs an operation, or asks for the runtime's devices."""
    kind = made_by(name) if name.startswith("tf.") or module.has_keras_3 else None
    return kind in _KINDS or bool(_STARTS.fullmatch(name))


BAD = """
import tensorflow as tf

weights = tf.constant([0.2, 0.8])
tf.config.threading.set_intra_op_parallelism_threads(4)  # <- here
strategy = tf.distribute.MultiWorkerMirroredStrategy()  # <- here
"""
_WEIGHTS = "weights = tf.constant([0.2, 0.8])\n"
GOOD = mended(BAD, _WEIGHTS, "") + _WEIGHTS
