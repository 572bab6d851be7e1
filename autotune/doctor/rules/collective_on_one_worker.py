"""What all workers do together, done by some.

Why: The workers that get there wait for the others, for ever, or until a time limit.

Instead: Let every worker do it, and let the chief print or save what comes of it.
"""

import ast
import re

from autotune.doctor import (
    MULTI_WORKER,
    STRATEGIES,
    Function,
    Hits,
    Kind,
    Module,
    last_name,
    mended,
)
from autotune.doctor.rules._examples import WORKERS

_UPDATES = {"apply_gradients", "minimize"}
_NUMBER = re.compile(r"(^|_)(task|task_id|task_index|worker_id|worker_index|rank)$")
Branch = ast.If | ast.IfExp


def check(module: Module) -> Hits:
    if not module.strategies & MULTI_WORKER or not module.strategies & STRATEGIES <= MULTI_WORKER:
        return
    together = {call for call, _ in module.methods(Kind.STRATEGY, "reduce", "gather")}
    for run in module.runs:
        if any(module.asks_for(each, _UPDATES) for each in module.all_called([run.function])):
            together.add(run.call)
    holders = {module.function_of(each) for each in together} - {None}
    together |= {each for each in module.calls if module.meant(each.func) in holders}
    for call in together:
        branch = _of_one_worker(module, call)
        if branch is not None and not _is_done_in_both(module, branch, together):
            yield call, f"Only some workers get here, by the condition in line {branch.lineno}."


def _of_one_worker(module: Module, node: ast.AST) -> Branch | None:
    """Return the condition of the same function that lets some workers through only."""
    for each, part in module.up(node):
        if isinstance(each, Function):
            return None
        if isinstance(each, Branch) and part is not each.test and _distinguishes_workers(each.test):
            return each
    return None


def _is_done_in_both(module: Module, branch: Branch, together: set[ast.Call]) -> bool:
    parts = [each if isinstance(each, list) else [each] for each in (branch.body, branch.orelse)]
    return all(together & {it for each in part for it in module.calls_in(each)} for part in parts)


def _distinguishes_workers(test: ast.expr) -> bool:
    """Return whether a condition holds for some workers only, by number or chief."""
    for each in ast.walk(test):
        if "is_chief" in last_name(each).lower():
            return True
        match each:
            case ast.Compare(left=left) if _NUMBER.search(last_name(left).lower()):
                values = [getattr(it, "value", None) for it in each.comparators]
                if any(isinstance(it, int) for it in values):
                    return True
    return False


_CHIEF = "if strategy.cluster_resolver.task_id == 0:\n    "
_REDUCES = 'loss = strategy.reduce("MEAN", losses, axis=None)'
BAD = f"""{WORKERS}
losses = tf.function(strategy.run)(replica_step)
{_CHIEF}{_REDUCES}  # <- here
    print(loss)
"""
GOOD = mended(BAD, f"{_CHIEF}{_REDUCES}", f"{_REDUCES}\n{_CHIEF.rstrip()}")
