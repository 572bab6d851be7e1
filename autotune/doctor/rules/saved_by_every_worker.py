"""Model saved by every worker to one path.

Why: On a shared file system the workers overwrite each other's files while they are being written,
and what is left may be no model.

Instead: Call it on every worker, because saving may synchronize them, but with the final path on
the chief only (strategy.cluster_resolver.task_id == 0), and a scratch path elsewhere.
"""

import ast
from collections.abc import Iterator

from autotune.doctor import Hit, Kind, Module, mended
from autotune.doctor.code import MULTI_WORKER
from autotune.doctor.rules._examples import WORKERS

_CHIEF = (
    *("chief", "task_id", "task_type", "task_index", "worker_id", "worker_index", "rank"),
    *("cluster_resolver", "master", "process_index", "is_main", "write_path", "should_"),
)
"""In a name or a text: who mentions one of these may know which worker is writing."""


def check(module: Module) -> Iterator[Hit]:
    names = {
        *module.loads,
        *module.attributes,
        *(it for each in module.scopes for it in each.names),
    }
    knows_workers = any(word in name.lower() for name in names for word in _CHIEF)
    if module.strategies & MULTI_WORKER and not knows_workers:
        for call, owner in module.methods(Kind.MODEL, "save", "save_weights", "export"):
            if call.args and _is_shared(module, call.args[0]):
                path = ast.unparse(call.args[0])
                yield call, f"Every worker writes `{ast.unparse(owner)}` to {path}."


def _is_shared(module: Module, path: ast.expr) -> bool:
    """Return whether a path is written out, and is not that of a temporary folder."""
    value = ast.unparse(module.resolved(path)).lower()
    named = isinstance(path, ast.Constant | ast.Name | ast.JoinedStr)
    return named and "tmp" not in value and "temp" not in value


BAD = f"""{WORKERS}with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])

train(strategy, model, dataset)
model.save("model.keras")  # <- here
"""
_ON_CHIEF = '"model.keras" if strategy.cluster_resolver.task_id == 0 else "/tmp/scratch.keras"'
GOOD = mended(BAD, '"model.keras"', _ON_CHIEF)
