"""Model saved by every worker to one path.

Why: On a shared file system the workers overwrite each other's files while they are being written,
and what is left may be no model.

Instead: Call it on every worker, because saving may synchronize them, but with the final path on
the chief only (strategy.cluster_resolver.task_id == 0), and a scratch path elsewhere.
"""

import ast

from autotune.doctor import MULTI_WORKER, Hits, Kind, Module, mended
from autotune.doctor.rules._examples import WORKERS

_CHIEF = (
    *("chief", "task_id", "task_type", "task_index", "worker_id", "worker_index", "rank"),
    *("cluster_resolver", "master", "process_index", "is_main", "write_path", "should_"),
)
"""In a name or a text: who mentions one of these may know which worker is writing."""


def check(module: Module) -> Hits:
    bound = [name for each in module.scopes for name in each.names]
    names = {*module.loads, *module.attributes, *bound}
    knows_workers = any(word in name.lower() for name in names for word in _CHIEF)
    if knows_workers or not module.strategies & MULTI_WORKER:
        return
    for call, owner in module.methods(Kind.MODEL, "save", "save_weights", "export"):
        path = call.args[0] if call.args else None
        if isinstance(path, ast.Constant | ast.Name | ast.JoinedStr):
            text = ast.unparse(module.resolved(path)).lower()
            if "tmp" not in text and "temp" not in text:
                yield call, f"Every worker writes `{ast.unparse(owner)}` to {ast.unparse(path)}."


BAD = f"""{WORKERS}with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])

train(strategy, model, dataset)
model.save("model.keras")  # <- here
"""
_ON_CHIEF = '"model.keras" if strategy.cluster_resolver.task_id == 0 else "/tmp/scratch.keras"'
GOOD = mended(BAD, '"model.keras"', _ON_CHIEF)
