"""TF_CONFIG set after the strategy.

Why: The strategy reads TF_CONFIG when it is created. Without it, each worker trains alone, and
nothing says so.

Instead: Set TF_CONFIG before the strategy is created, or in the shell that starts it.
"""

import ast

from autotune.doctor import MULTI_WORKER, Hits, Module, argument

_KEY = "TF_CONFIG"
_STARTS_PROCESSES = {"subprocess", "multiprocessing", "Popen", "Process", "system", "fork"}
_WRITES = {f"os.{name}" for name in ("environ.update", "environ.setdefault", "putenv")}


def check(module: Module) -> Hits:
    kinds = ast.Constant | ast.keyword
    said = [it for it in module.nodes if isinstance(it, kinds)]
    named = [it for it in said if _KEY in (getattr(it, "value", ""), getattr(it, "arg", ""))]
    mentions: set[ast.AST] = {it for each in named if (it := module.statement_of(each))}
    writes = {each for each in mentions if _writes(module, each)}
    if len(writes) != 1 or _STARTS_PROCESSES & {*module.loads, *module.attributes}:
        return
    made = module.calls_of(*MULTI_WORKER)
    strategies: set[ast.AST] = {each for each in made if not _has_resolver(module, each)}
    # Who has read it before puts it back, or changes it for another process.
    known = module.order.after(mentions - writes, writes)
    for write, strategy in module.order.after(strategies, writes - {*known}).items():
        how = f"which line {getattr(strategy, 'lineno', 0)} creates"
        yield write, f"TF_CONFIG is set after the strategy that reads it, {how}."


def _writes(module: Module, statement: ast.AST) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=place, slice=ast.Constant(value=key))]):
            empty = isinstance(statement.value, ast.Constant) and not statement.value.value
            return key == _KEY and module.dotted(place) == "os.environ" and not empty
        case ast.AugAssign(target=target):
            return module.dotted(target) == "os.environ"
        case ast.Expr(value=ast.Call(func=func)):
            return module.dotted(func) in _WRITES
    return False


def _has_resolver(module: Module, call: ast.Call) -> bool:
    given = [*call.args, *filter(None, [argument(call, None, "cluster_resolver")])]
    return any("TFConfig" not in ast.unparse(module.resolved(each)) for each in given)


_IMPORTS = """
import json
import os

import tensorflow as tf

"""
_MADE = "strategy = tf.distribute.MultiWorkerMirroredStrategy()\n"
_SET = """\
cluster = {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}
task = {"type": "worker", "index": 0}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})"""
BAD = f"{_IMPORTS}{_MADE}{_SET}  # <- here\n"
GOOD = f"{_IMPORTS}{_SET}\n{_MADE}"
