"""What all workers do together, where one of them does it alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.kinds import MULTI_WORKER, STRATEGIES
from autotune.doctor.code.tree import FUNCTIONS, Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_EXCHANGES = ("reduce", "gather")
_UPDATES = {"apply_gradients", "minimize"}
_NUMBER = re.compile(r"(^|_)(task|task_id|task_index|worker_id|worker_index|rank)$")
Branch = ast.If | ast.IfExp


def _check(module: Module) -> Iterator[Hit]:
    if not module.strategies & MULTI_WORKER or not module.strategies & STRATEGIES <= MULTI_WORKER:
        return
    together = {call for call, _ in module.methods(Kind.STRATEGY, *_EXCHANGES)}
    together |= {each.call for each in module.runs if _trains(module, each.function)}
    holders = {module.tree.function_of(each) for each in together} - {None}
    together |= {each for each in module.tree.calls if module.meant(each.func) in holders}
    for call in together:
        branch = _of_one_worker(module, call)
        if branch is not None and not _is_done_in_both(module, branch, together):
            yield call, f"Only some workers get here, by the condition in line {branch.lineno}."


def _trains(module: Module, function: Function | None) -> bool:
    functions = module.graphs.all_called([function]) if function else ()
    return any(module.tree.asks_for(each, _UPDATES) for each in functions)


def _of_one_worker(module: Module, node: ast.AST) -> Branch | None:
    """Return the condition of the same function that lets some workers through only."""
    below = node
    for each in module.tree.above(node):
        if isinstance(each, FUNCTIONS):
            return None
        if isinstance(each, Branch) and below is not each.test and _tells_workers(each.test):
            return each
        below = each
    return None


def _is_done_in_both(module: Module, branch: Branch, together: set[ast.Call]) -> bool:
    parts = [each if isinstance(each, list) else [each] for each in (branch.body, branch.orelse)]
    return all(
        any(call in together for each in part for call in module.tree.calls_in(each))
        for part in parts
    )


def _tells_workers(test: ast.expr) -> bool:
    """Return whether a condition holds for some workers only, by number or chief."""
    for each in ast.walk(test):
        if isinstance(each, ast.Compare):
            with_number = any(
                isinstance(value, ast.Constant) and isinstance(value.value, int)
                for value in each.comparators
            )
            if with_number and _NUMBER.search(_last(each.left)):
                return True
        elif "is_chief" in _last(each):
            return True
    return False


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", "")).lower()


_BAD = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
losses = tf.function(strategy.run)(replica_step)
if strategy.cluster_resolver.task_id == 0:
    loss = strategy.reduce("MEAN", losses, axis=None)  # <- here
    print(loss)
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
losses = tf.function(strategy.run)(replica_step)
loss = strategy.reduce("MEAN", losses, axis=None)
if strategy.cluster_resolver.task_id == 0:
    print(loss)
"""

RULE = Rule(
    name="collective-on-one-worker",
    title="what all workers do together, done by some",
    severity=Severity.ERROR,
    why="The workers that get there wait for the others, for ever, or until a time limit.",
    instead="Let every worker do it, and let the chief print or save what comes of it.",
    words=(("multiworkermirroredstrategy",), ("task", "rank", "chief", "worker_i")),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
