"""Threads that change one variable at the same time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.tree import FUNCTIONS, LOOPS, Function
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_CHANGES = {
    **dict.fromkeys(("assign", "assign_add", "assign_sub"), Kind.VARIABLE),
    "set_weights": Kind.MODEL,
}
_APPLIES = {"apply_gradients", "apply"}
_STARTS = {"submit", "map", "starmap", "apply_async", "map_async", "imap", "imap_unordered"}
_THREADS = {"threading.Thread", "threading.Timer"}
_WAITS = {"join", "result", "get", "wait"}
_NO_READS = {"shape", "dtype", "name", "device", "get_shape", "trainable", "handle", "path"}
"""Of a variable, what threads cannot change."""
_DEEPEST = 6


@dataclass(frozen=True, eq=False)
class _Start:
    """A place where threads are started."""

    call: ast.Call
    function: Function
    """What they run."""
    several: bool


def _check(module: Module) -> Iterator[Hit]:
    starts = [*_started(module)]
    runs = {each.function: module.graphs.all_called([each.function]) for each in starts}
    found = set().union(*runs.values())
    changes = {
        call: shared
        for call in module.tree.calls
        if module.tree.function_of(call) in found
        and (shared := _changed(module, call, found))
        and not _is_locked(module, call, found, 0)
    }
    for call, shared in changes.items():
        others = [
            each
            for each in starts
            if any(
                shared & also and module.tree.function_of(other) in runs[each.function]
                for other, also in changes.items()
            )
        ]
        own = [each for each in others if module.tree.function_of(call) in runs[each.function]]
        if any(_at_once(module, each, other) for each in own for other in others):
            what = ast.unparse(call.func)
            yield call, f"Several threads run `{what}` concurrently without a lock."


def _at_once(module: Module, first: _Start, second: _Start) -> bool:
    """Return whether the threads of two places certainly run at the same time."""
    if first is second:
        return first.several
    functions = {module.tree.function_of(each.call) for each in (first, second)}
    if len(functions) > 1:
        return False
    places = sorted((each.call.lineno, each.call.col_offset) for each in (first, second))
    waits = (
        (each.lineno, each.col_offset)
        for name in _WAITS
        for each in module.tree.attributes.get(name, ())
    )
    between = any(places[0] < each < places[1] for each in waits)
    return not between and not _exclude(module, first.call, second.call)


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


def _started(module: Module) -> Iterator[_Start]:
    """Yield where threads of the module's functions are started."""
    for call in module.tree.calls:
        own = _run_of_thread(module, call)
        if own is not None:
            yield _Start(call, own, _is_repeated(module, call))
        if module.dotted(call.func) in _THREADS:
            given = [each.value for each in call.keywords if each.arg in {"target", "function"}]
            targets, several = [*given, *call.args[1:2]], _is_repeated(module, call)
        elif _is_of_pool(module, call):
            name = getattr(call.func, "attr", "")
            targets, several = call.args[:1], "map" in name or _is_repeated(module, call)
        else:
            continue
        for target in targets:
            function = module.meant(target)
            if function is not None:
                yield _Start(call, function, several)


def _run_of_thread(module: Module, call: ast.Call) -> Function | None:
    """Return what the thread runs that a call makes, of a class of the module."""
    owner = module.classes.of(call)
    return module.classes.method(owner, "run") if owner and _is_thread(module, owner) else None


def _is_thread(module: Module, owner: ast.AST) -> bool:
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    return any(module.dotted(each) in _THREADS for each in bases)


def _is_of_pool(module: Module, call: ast.Call) -> bool:
    """Return whether a pool of several threads runs what a call gives it."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _STARTS:
        return False
    makers = [part.node for part in module.flow.origins(call.func.value)]
    given = [
        argument
        for each in makers
        if isinstance(each, ast.Call)
        for argument in (*each.args, *(option.value for option in each.keywords))
    ]
    alone = any(isinstance(each, ast.Constant) and each.value == 1 for each in given)
    return module.kind(call.func.value) is Kind.POOL and not alone


def _is_repeated(module: Module, call: ast.Call) -> bool:
    """Return whether a call is made again while threads that it has started still run."""
    loop = _loop_around(module, call)
    if loop is not None:
        return not module.tree.asks_for(loop, _WAITS)
    function = module.tree.function_of(call)
    if function is None or module.tree.asks_for(function, _WAITS):
        return False
    makes = any(map(partial(_makes, module), module.tree.calls_in(function)))
    sites = module.functions.sites(function)
    return not makes and any(_loop_around(module, site.call) is not None for site in sites)


def _makes(module: Module, call: ast.Call) -> bool:
    return module.kind(call) is Kind.VARIABLE or module.classes.of(call) is not None


def _loop_around(module: Module, node: ast.AST) -> ast.AST | None:
    """Return the innermost loop around a node, generators included."""
    for each in module.tree.above(node):
        if isinstance(each, (*FUNCTIONS, ast.ClassDef)):
            return None
        if isinstance(each, ast.GeneratorExp):
            return each
        if isinstance(each, LOOPS):
            return next(module.tree.loops_around(node), None)
    return None


def _changed(module: Module, call: ast.Call, found: set[Function]) -> set[ast.expr]:
    """Return what a call changes of what threads share, by where it was made."""
    if not isinstance(call.func, ast.Attribute):
        return set()
    owner, name = call.func.value, call.func.attr
    if name in _APPLIES:
        return _shared(module, owner, Kind.OPTIMIZER, found)
    variables = _shared(module, owner, _CHANGES[name], found) if name in _CHANGES else set()
    given = [*call.args, *(each.value for each in call.keywords)]
    reads = (variables & module.flow.ingredients(each, _NO_READS) for each in given)
    return set().union(*reads)


def _shared(module: Module, owner: ast.expr, kind: Kind, found: set[Function]) -> set[ast.expr]:
    """Return where that is made which all threads share, if it is certainly the same one."""
    parts = module.flow.origins(owner)
    calls = [part.node for part in parts if isinstance(part.node, ast.Call)]
    if any(None in part.path for part in parts) or any(
        _is_made_in_loop(module, it) for it in calls
    ):
        return set()
    return {each for each in calls if module.kind(each) is kind and _is_shared(module, each, found)}


def _is_shared(module: Module, made: ast.Call, found: set[Function]) -> bool:
    """Return whether what a call makes is neither of one thread nor of one of several objects."""
    function = module.tree.function_of(made)
    owner = module.tree.parent(function) if function else None
    if _is_thread(module, owner or made):
        return False
    objects = [each for each in module.tree.calls if owner and module.classes.of(each) is owner]
    return not any(
        module.tree.function_of(each) in found or _is_made_in_loop(module, each)
        for each in (made, *objects)
    )


def _is_made_in_loop(module: Module, made: ast.Call) -> bool:
    """Return whether a loop makes several, and is no container that is read by its keys."""
    loop = _loop_around(module, made)
    return isinstance(loop, ast.For | ast.AsyncFor | ast.While) or (
        loop is not None and getattr(loop, "elt", None) is not made
    )


def _is_locked(module: Module, node: ast.AST, found: set[Function], depth: int) -> bool:
    """Return whether a lock is held at a node, by its function or by all that call that."""
    around = (each for each in module.tree.above(node) if isinstance(each, ast.With))
    if any(_is_lock(module, item.context_expr) for each in around for item in each.items):
        return True
    function = module.tree.function_of(node)
    if function is None or depth > _DEEPEST:
        return False
    decorators = getattr(function, "decorator_list", ())
    if not all(map(module.functions.compiles, decorators)) or any(
        isinstance(each, ast.Attribute) and each.attr == "acquire" for each in ast.walk(function)
    ):
        return True
    uses = module.functions.mentions(function)
    return bool(uses) and all(
        _is_executed(module, each)
        or (
            module.tree.function_of(each) in found - {function}
            and _is_locked(module, each, found, depth + 1)
        )
        for each in uses
    )


def _is_executed(module: Module, node: ast.AST) -> bool:
    """Return whether a function is given to a `tf.CriticalSection`, by the name of its method."""
    parent = module.tree.parent(node)
    return isinstance(parent, ast.Call) and getattr(parent.func, "attr", "") == "execute"


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
    words=(("thread",), ("assign", "apply", "set_weights")),
    check=_check,
    bad=(_BAD, _BAD_POOL),
    good=(_GOOD, _GOOD_AT_ONCE, _GOOD_OWN),
)
