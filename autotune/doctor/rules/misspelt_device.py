"""Invalid device name.

Why: It raises ValueError when the device is first used.

Instead: Use TYPE:INDEX, such as GPU:0, optionally after /job:NAME/task:INDEX/device:.
"""

import ast
import re
from collections.abc import Iterator

from autotune.doctor import Hits, Module, mended
from autotune.doctor.rules._devices import read_device, written_device
from autotune.text import closest

_TAKE = ("tf.device", "tf.distribute.OneDeviceStrategy", "tf.distribute.MirroredStrategy")
_WORDS = {"gpu": "GPU", "cpu": "CPU", "tpu": "TPU", "cuda": "GPU"}


def check(module: Module) -> Hits:
    for node in (each for call in module.calls_of(*_TAKE) for each in _names(module, call)):
        name = written_device(module, node)
        if name is not None and read_device(name) is None:
            yield node, f"{name!r} is not a TensorFlow device name.{_hint(name)}"


def _names(module: Module, call: ast.Call) -> Iterator[ast.expr]:
    named = (each.value for each in call.keywords if (each.arg or "").startswith("device"))
    for given in (*call.args[:1], *named):
        match module.resolved(given):
            case ast.List(elts=several) | ast.Tuple(elts=several):
                yield from several
            case ast.ListComp(elt=each):
                yield each
            case _:
                yield given


def _hint(name: str) -> str:
    found = re.search(r"([a-z]+)\D*(\d*)\D*$", name.lower().replace("device", ""))
    close = closest(found[1], _WORDS) if found else []
    return f" Did you mean '{_WORDS[close[0]]}:{found[2] or 0}'?" if found and close else ""


BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["GPU:0", "cuda:1"])  # <- here
"""
GOOD = mended(BAD, "cuda:1", "/job:worker/task:1/device:GPU:1")
