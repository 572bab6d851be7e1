"""Variables that several threads update without a lock."""

import ast
import re

from autotune.doctor import Function, Hits, Kind, Module, PythonLoop, argument, arguments, rule

_CHANGES = {
    **dict.fromkeys(("assign", "assign_add", "assign_sub"), Kind.VARIABLE),
    "set_weights": Kind.MODEL,
}
_APPLIES = {"apply_gradients", "apply"}
_STARTS = {"submit", "map", "starmap", "apply_async", "map_async", "imap", "imap_unordered"}
_THREADS = {"threading.Thread", "threading.Timer"}
_WAITS = {"join", "result", "get", "wait"}
_NO_READS = {"shape", "dtype", "name", "device", "get_shape", "trainable", "handle", "path"}
"""The members of a variable that threads cannot change."""
_LOCK = re.compile("lock|mutex|semaphore")
_DEEPEST = 6


@rule
def unlocked_threads(module: Module) -> Hits:
    started = ((each, _started(module, each)) for each in module.calls)
    runs = {call: module.all_called([function]) for call, function in started if function}
    found = set().union(*runs.values())
    changes = {
        call: shared
        for call in module.calls
        if module.function_of(call) in found
        and (shared := _changed(module, call, found))
        and not _is_locked(module, call, found)
    }
    for call, shared in changes.items():
        places = {module.function_of(other) for other, also in changes.items() if shared & also}
        others = [each for each in runs if places & runs[each]]
        own = [each for each in others if module.function_of(call) in runs[each]]
        if any(_at_once(module, each, other) for each in own for other in others):
            what = ast.unparse(call.func)
            yield call, f"Several threads run `{what}` concurrently without a lock."


def _at_once(module: Module, first: ast.Call, second: ast.Call) -> bool:
    """Return whether threads that two calls start, or one of them several times, run together."""
    if first is second:
        return "map" in getattr(first.func, "attr", "") or _is_repeated(module, first)
    first, second = sorted((first, second), key=module.position)
    waits = (each for name in _WAITS for each in module.attributes[name])
    start, end = module.position(first), module.position(second)
    between = any(start < module.position(each) < end for each in waits)
    together = module.function_of(first) is module.function_of(second)
    return together and not between and module.agree(first, second)


def _started(module: Module, call: ast.Call) -> Function | None:
    """Return the function that a call lets a thread run."""
    owner = module.class_of(call)
    if owner and _is_thread(module, owner):
        return module.method(owner, "run")
    if module.dotted(call.func) in _THREADS:
        return module.meant(argument(call, 1, "target", "function"))
    match call.func:
        case ast.Attribute(pool, name) if name in _STARTS and module.kind(pool) is Kind.POOL:
            makers = [part.node for part in module.origins(pool)]
            given = [it for each in makers if isinstance(each, ast.Call) for it in arguments(each)]
            if not any(isinstance(each, ast.Constant) and each.value == 1 for each in given):
                return module.meant(argument(call, 0))
    return None


def _is_thread(module: Module, owner: ast.ClassDef) -> bool:
    return any(module.dotted(each) in _THREADS for each in owner.bases)


def _is_repeated(module: Module, call: ast.Call) -> bool:
    """Return whether a call is made again while threads that it has started still run."""
    if loop := module.loop_around(call):
        return not module.asks_for(loop, _WAITS)
    function = module.function_of(call)
    if function is None or module.asks_for(function, _WAITS):
        return False
    own = (
        module.kind(each) is Kind.VARIABLE or module.class_of(each)
        for each in module.calls_in(function)
    )
    return not any(own) and any(module.loop_around(each) for each in module.sites[function])


def _changed(module: Module, call: ast.Call, found: set[Function]) -> set[ast.expr]:
    if not isinstance(call.func, ast.Attribute):
        return set()
    owner, name = call.func.value, call.func.attr
    if name in _APPLIES:
        return _shared(module, owner, Kind.OPTIMIZER, found)
    variables = _shared(module, owner, _CHANGES[name], found) if name in _CHANGES else set()
    given = arguments(call) if variables else ()
    return variables & set().union(*(module.ingredients(each, _NO_READS) for each in given))


def _shared(module: Module, owner: ast.expr, kind: Kind, found: set[Function]) -> set[ast.expr]:
    """Return the calls that make the value of a name, if all threads certainly share it."""
    parts = module.origins(owner)
    calls = [part.node for part in parts if isinstance(part.node, ast.Call)]
    several = any(None in part.path for part in parts)
    if several or any(_is_made_in_loop(module, each) for each in calls):
        return set()
    shared: set[ast.expr] = set()
    for call in (made for made in calls if module.kind(made) is kind):
        # It is neither of one thread nor of one of several objects.
        holder = module.class_of_method(module.function_of(call))
        objects = (each for each in module.calls if holder and module.class_of(each) is holder)
        places = [call, *objects]
        several = any(_is_made_in_loop(module, each) for each in places)
        in_thread = not found.isdisjoint(map(module.function_of, places))
        if not (several or in_thread or (holder and _is_thread(module, holder))):
            shared.add(call)
    return shared


def _is_made_in_loop(module: Module, made: ast.Call) -> bool:
    """Return whether a loop makes several, and is no container that is read by its keys."""
    loop = module.loop_around(made)
    return isinstance(loop, PythonLoop) or (bool(loop) and getattr(loop, "elt", None) is not made)


def _is_locked(module: Module, node: ast.AST, found: set[Function], depth: int = 0) -> bool:
    """Return whether a lock is held at a node, by its function or by all that call that."""
    around = (each for each in module.above(node) if isinstance(each, ast.With))
    for entered in (item.context_expr for each in around for item in each.items):
        if _LOCK.search(ast.unparse(entered).lower()) or module.kind(entered) is Kind.LOCK:
            return True
    function = module.function_of(node)
    if function is None or depth > _DEEPEST:
        return False
    if module.is_wrapped(function) or module.asks_for(function, {"acquire"}):
        return True
    uses = module.mentions[function]
    return bool(uses) and all(
        # A `tf.CriticalSection` executes what it is given.
        getattr(getattr(module.parents[each], "func", None), "attr", "") == "execute"
        or (
            module.function_of(each) in found - {function}
            and _is_locked(module, each, found, depth + 1)
        )
        for each in uses
    )
