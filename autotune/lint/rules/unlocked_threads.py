"""Threads that change one variable at the same time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.lint.code import Kind, Module
from autotune.lint.code.tree import Function
from autotune.lint.report import Severity
from autotune.lint.rule import Hit, Rule

_CHANGES = {"assign", "assign_add", "assign_sub"}
_APPLIES = {"apply_gradients", "apply"}
_STARTS = {"submit", "map", "starmap", "apply_async", "map_async", "imap", "imap_unordered"}
_THREADS = {"threading.Thread", "threading.Timer"}


def _check(module: Module) -> Iterator[Hit]:
    found = module.graphs.all_called(_run_by_several_threads(module))
    for call in module.tree.calls:
        function = module.tree.function_of(call)
        if function is None or function not in found or _is_locked(module, call):
            continue
        if _changes_shared(module, call, function):
            what = ast.unparse(call.func)
            yield call, f"Several threads run `{what}` concurrently without a lock."


def _run_by_several_threads(module: Module) -> Iterator[Function]:
    started: dict[Function, list[ast.Call]] = {}
    for function, call, several in _started(module):
        before = started.setdefault(function, [])
        if several or not all(_exclude(module, each, call) for each in before):
            yield function
        before.append(call)


def _exclude(module: Module, first: ast.Call, second: ast.Call) -> bool:
    """Return whether two calls stand in different branches, of which one is taken."""
    for each in module.tree.above(first):
        if isinstance(each, ast.If) and module.tree.inside(second, each):
            branches = [
                any(module.tree.inside(call, statement) for statement in each.body)
                for call in (first, second)
            ]
            return branches[0] != branches[1]
    return False


def _started(module: Module) -> Iterator[tuple[Function, ast.Call, bool]]:
    """Yield the functions that threads run, with the call, and whether it starts several."""
    for call in module.tree.calls:
        looped = next(module.tree.loops_around(call), None) is not None
        own = _run_of_thread(module, call)
        if own is not None:
            yield own, call, looped
        if module.dotted(call.func) in _THREADS:
            given = [each.value for each in call.keywords if each.arg in {"target", "function"}]
            targets, several = [*given, *call.args[1:2]], looped
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _STARTS:
            if module.kind(call.func.value) is not Kind.POOL:
                continue
            targets, several = call.args[:1], looped or "map" in call.func.attr
        else:
            continue
        for target in targets:
            function = module.meant(target)
            if function is not None:
                yield function, call, several


def _run_of_thread(module: Module, call: ast.Call) -> Function | None:
    """Return what the thread runs that a call makes, of a class of the module."""
    owner = module.classes.of(call)
    bases = [module.dotted(each) for each in owner.bases] if owner else []
    return module.classes.method(owner, "run") if owner and _THREADS & {*bases} else None


def _changes_shared(module: Module, call: ast.Call, function: Function) -> bool:
    """Return whether a call changes a variable that was not made by this thread alone."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner, name = call.func.value, call.func.attr
    kind = module.kind(owner)
    changes = (kind is Kind.VARIABLE and name in _CHANGES and _reads(module, call, owner)) or (
        kind is Kind.OPTIMIZER and name in _APPLIES
    )
    return changes and not _is_local(module, owner, function)


def _reads(module: Module, call: ast.Call, owner: ast.expr) -> bool:
    """Return whether what is assigned depends on the variable itself; each call alone is safe."""
    variable = ast.dump(owner)
    given = [*call.args, *(each.value for each in call.keywords)]
    given += [value for each in given if (value := module.scopes.value(each)) is not None]
    return any(
        isinstance(each, ast.expr) and ast.dump(each) == variable
        for argument in given
        for each in ast.walk(argument)
    )


def _is_local(module: Module, node: ast.expr, function: Function) -> bool:
    if not isinstance(node, ast.Name):
        return False
    bindings = module.scopes.bindings(node.id, node)
    return any(module.tree.inside(each.node, function) for each in bindings)


def _is_locked(module: Module, call: ast.Call) -> bool:
    around = (each for each in module.tree.above(call) if isinstance(each, ast.With))
    if any(_is_lock(module, item.context_expr) for each in around for item in each.items):
        return True
    function = module.tree.function_of(call)
    return function is not None and any(
        isinstance(each, ast.Attribute) and each.attr == "acquire" for each in ast.walk(function)
    )


def _is_lock(module: Module, node: ast.expr) -> bool:
    named = any(word in ast.unparse(node).lower() for word in ("lock", "mutex", "semaphore"))
    return named or module.kind(node) is Kind.LOCK


_BAD = """
import threading

import tensorflow as tf

counter = tf.Variable(0.0)


def work():
    for _ in range(1000):
        counter.assign(counter + 1.0)  # <- here


threads = [threading.Thread(target=work) for _ in range(4)]
"""

_BAD_POOL = """
from concurrent.futures import ThreadPoolExecutor

import keras
import tensorflow as tf

optimizer = keras.optimizers.SGD(0.1)


def train_on(part):
    with tf.GradientTape() as tape:
        loss = loss_of(model, part)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))  # <- here


with ThreadPoolExecutor() as pool:
    list(pool.map(train_on, parts))
"""

_GOOD = _BAD.replace("counter = ", "lock = threading.Lock()\ncounter = ").replace(
    "        counter.assign(counter + 1.0)  # <- here",
    "        with lock:\n            counter.assign(counter + 1.0)",
)

_GOOD_AT_ONCE = _BAD.replace(
    "assign(counter + 1.0)  # <- here",
    "assign_add(1.0)  # Reads and writes under a lock of its own.",
)

_GOOD_OWN = (
    _BAD.replace("counter = tf.Variable(0.0)\n\n\n", "\n")
    .replace("def work():", "def work():\n    counter = tf.Variable(0.0)")
    .replace("  # <- here", "")
)

RULE = Rule(
    name="unlocked-threads",
    title="variable updated by several threads without a lock",
    severity=Severity.ERROR,
    why=(
        "This is a race condition: updates by other threads between the read and the write are "
        "lost, a different number in every run."
    ),
    instead=(
        "Hold a threading.Lock around the read and the write, or use a tf.distribute strategy, "
        "which reduces the gradients before applying them."
    ),
    words=(("thread",), ("assign", "apply")),
    check=_check,
    bad=(_BAD, _BAD_POOL),
    good=(_GOOD, _GOOD_AT_ONCE, _GOOD_OWN),
)
