"""Operations that one of several workers runs alone, or all of them on one file."""

import ast
import re

from autotune.doctor import MULTI_WORKER, Hits, Kind, Module, last_name, rule

_UPDATES = {"apply_gradients", "minimize"}
_NUMBER = re.compile(r"(^|_)(task|task_id|task_index|worker_id|worker_index|rank)$")
_CHIEF = (
    *("chief", "task_id", "task_type", "task_index", "worker_id", "worker_index", "rank"),
    *("cluster_resolver", "master", "process_index", "is_main", "write_path", "should_"),
)
"""Parts of names: a program with one of these may know the writing worker."""


@rule
def collective_on_one_worker(module: Module) -> Hits:
    if not module.made_strategies or not module.made_strategies <= MULTI_WORKER:
        return
    together = {call for call, _ in module.methods(Kind.STRATEGY, "reduce", "gather")}
    for call, function in module.runs.items():
        if any(module.asks_for(each, _UPDATES) for each in module.all_called([function])):
            together.add(call)
    holders = {module.function_of(each) for each in together} - {None}
    together |= {each for each in module.calls if module.meant(each.func) in holders}
    for call in together:
        around = (each for each, _ in module.conditions(call))
        branch = next((each for each in around if _distinguishes_workers(each.test)), None)
        both = (branch.body, branch.orelse) if branch else ()
        parts = [each if isinstance(each, list) else [each] for each in both]
        done = (together & {it for each in part for it in module.calls_in(each)} for part in parts)
        if branch and not all(done):
            yield call, f"Only some workers get here, by the condition in line {branch.lineno}."


@rule
def saved_by_every_worker(module: Module) -> Hits:
    names = {*module.loads, *module.attributes, *module.bound_names}
    knows_workers = any(word in name.lower() for name in names for word in _CHIEF)
    if knows_workers or not module.strategies & MULTI_WORKER:
        return
    for call, owner in module.methods(Kind.MODEL, "save", "save_weights", "export"):
        path = call.args[0] if call.args else None
        if isinstance(path, ast.Constant | ast.Name | ast.JoinedStr):
            text = ast.unparse(module.resolved(path)).lower()
            if "tmp" not in text and "temp" not in text:
                yield call, f"Every worker writes `{ast.unparse(owner)}` to {ast.unparse(path)}."


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
