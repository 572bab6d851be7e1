"""Device names that TensorFlow refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Module
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule
from autotune.doctor.rules._devices import meant_device, read_device, written_device

_TAKE_ONE = {"tf.device", "tf.distribute.OneDeviceStrategy"}
_TAKE_SEVERAL = {"tf.distribute.MirroredStrategy"}


def _check(module: Module) -> Iterator[Hit]:
    for call in module.tree.calls:
        for node in _names(module, call):
            name = written_device(module, node)
            if name is not None and read_device(name) is None:
                meant = meant_device(name)
                hint = f" Did you mean {meant!r}?" if meant else ""
                yield node, f"{name!r} is not a TensorFlow device name.{hint}"


def _names(module: Module, call: ast.Call) -> Iterator[ast.expr]:
    dotted = module.dotted(call.func)
    if dotted not in _TAKE_ONE | _TAKE_SEVERAL:
        return
    named = (each.value for each in call.keywords if (each.arg or "").startswith("device"))
    for given in (*call.args[:1], *named):
        value = module.scopes.value(given) or given
        if isinstance(value, ast.List | ast.Tuple):
            yield from value.elts
        else:
            yield value.elt if isinstance(value, ast.ListComp) else given


_BAD = """
import tensorflow as tf

with tf.device("/gpu0"):  # <- here
    weights = tf.random.normal((1024, 1024))
"""

_BAD_STRATEGY = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["GPU:0", "cuda:1"])  # <- here
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["GPU:0", "/gpu:1"])

with tf.device("/job:worker/task:1/device:CPU:0"):
    table = tf.zeros((1024, 1024))
"""

RULE = Rule(
    name="misspelt-device",
    title="invalid device name",
    severity=Severity.ERROR,
    why="It raises ValueError when the device is first used.",
    instead="Use TYPE:INDEX, such as GPU:0, optionally after /job:NAME/task:INDEX/device:.",
    words=(("device(", "onedevicestrategy", "mirroredstrategy"),),
    check=_check,
    bad=(_BAD, _BAD_STRATEGY),
    good=(_GOOD,),
)
