"""A cluster that is described after the strategy has looked for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Module
from autotune.doctor.code.kinds import MULTI_WORKER
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_KEY = "TF_CONFIG"
_STARTS_PROCESSES = {"subprocess", "multiprocessing", "Popen", "Process", "system", "fork"}
_WRITES = {f"os.{name}" for name in ("environ.update", "environ.setdefault", "putenv")}


def _check(module: Module) -> Iterator[Hit]:
    mentions = {
        _statement(module, each): each
        for each in module.tree.walk(module.tree.root)
        if (isinstance(each, ast.Constant) and each.value == _KEY)
        or (isinstance(each, ast.keyword) and each.arg == _KEY)
    }
    writes = {each: place for each, place in mentions.items() if _writes(module, each)}
    if len(writes) != 1 or _STARTS_PROCESSES & {*module.tree.loads, *module.tree.attributes}:
        return
    strategies: set[ast.AST] = {
        each
        for each in module.tree.calls
        if module.dotted(each.func) in MULTI_WORKER and not _has_resolver(module, each)
    }
    # Who has read it before puts it back, or changes it for another process.
    known = module.order.after({*mentions} - {*writes}, {*writes})
    for write, strategy in module.order.after(strategies, {*writes} - {*known}).items():
        line = getattr(strategy, "lineno", 0)
        yield (
            write,
            f"TF_CONFIG is set after the strategy that reads it, which line {line} creates.",
        )


def _statement(module: Module, node: ast.AST) -> ast.AST:
    return next(each for each in module.tree.above(node) if isinstance(each, ast.stmt))


def _writes(module: Module, statement: ast.AST) -> bool:
    """Return whether a statement that names TF_CONFIG puts something into the environment."""
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
    """Return whether a strategy is told of its cluster in another way than TF_CONFIG."""
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "cluster_resolver")]
    return any("TFConfig" not in ast.unparse(module.scopes.value(each) or each) for each in given)


_BAD = """
import json
import os

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
cluster = {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}
task = {"type": "worker", "index": 0}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})  # <- here
"""

_GOOD = """
import json
import os

import tensorflow as tf

cluster = {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}
task = {"type": "worker", "index": 0}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
strategy = tf.distribute.MultiWorkerMirroredStrategy()
"""

RULE = Rule(
    name="tf-config-after-strategy",
    title="TF_CONFIG set after the strategy",
    severity=Severity.ERROR,
    why=(
        "The strategy reads TF_CONFIG when it is created. Without it, each worker trains alone, "
        "and nothing says so."
    ),
    instead="Set TF_CONFIG before the strategy is created, or in the shell that starts it.",
    words=(("tf_config",), ("multiworkermirroredstrategy",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
