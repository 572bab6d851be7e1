"""A model that all workers write to one path."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import MULTI_WORKER
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_SAVES = ("save", "save_weights", "export")
_CHIEF = (
    *("chief", "task_id", "task_type", "task_index", "worker_id", "worker_index", "rank"),
    *("cluster_resolver", "master", "process_index", "is_main", "write_path", "should_"),
)
"""In a name or a text: who mentions one of these may know which worker is writing."""


def _check(module: Module) -> Iterator[Hit]:
    if not module.strategies & MULTI_WORKER or _knows_workers(module):
        return
    for call, owner in module.methods(Kind.MODEL, *_SAVES):
        if call.args and _is_shared(module, call.args[0]):
            path = ast.unparse(call.args[0])
            yield call, f"Every worker writes `{ast.unparse(owner)}` to {path}."


def _is_shared(module: Module, path: ast.expr) -> bool:
    """Return whether a path is written out, and is not that of a temporary folder."""
    value = module.scopes.value(path) or path
    named = isinstance(path, ast.Constant | ast.Name | ast.JoinedStr)
    return named and not any(each in ast.unparse(value).lower() for each in ("tmp", "temp"))


def _knows_workers(module: Module) -> bool:
    names = {*module.tree.loads, *module.tree.attributes}
    names |= {name for scope in module.scopes.all() for name in scope.names}
    return any(word in name.lower() for name in names for word in _CHIEF)


_BAD = """
import keras
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])

train(strategy, model, dataset)
model.save("model.keras")  # <- here
"""

_GOOD = _BAD.replace(
    'model.save("model.keras")  # <- here',
    "resolver = strategy.cluster_resolver\n"
    'model.save("model.keras" if resolver.task_id == 0 else "/tmp/scratch.keras")',
)

RULE = Rule(
    name="saved-by-every-worker",
    title="model saved by every worker to one path",
    severity=Severity.ERROR,
    why=(
        "On a shared file system the workers overwrite each other's files while they are being "
        "written, and what is left may be no model."
    ),
    instead=(
        "Call it on every worker, because saving may synchronize them, but with the final path "
        "on the chief only (strategy.cluster_resolver.task_id == 0), and a scratch path elsewhere."
    ),
    words=(("multiworkermirroredstrategy",), (".save", ".export")),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
