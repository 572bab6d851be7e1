"""Variables that several threads update without a lock."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

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
"""Of a variable, what threads cannot change."""
_LOCK = re.compile("lock|mutex|semaphore")
_DEEPEST = 6


@dataclass(frozen=True, eq=False)
class _Start:
    call: ast.Call
    function: Function
    """What they run."""
    several: bool


@rule
def unlocked_threads(module: Module) -> Hits:
    starts = [*_started(module)]
    runs = {each.function: module.all_called([each.function]) for each in starts}
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
        others = [each for each in starts if places & runs[each.function]]
        own = [each for each in others if module.function_of(call) in runs[each.function]]
        if any(_at_once(module, each, other) for each in own for other in others):
            what = ast.unparse(call.func)
            yield call, f"Several threads run `{what}` concurrently without a lock."


def _at_once(module: Module, first: _Start, second: _Start) -> bool:
    if first is second:
        return first.several
    calls = sorted((first.call, second.call), key=module.position)
    waits = (each for name in _WAITS for each in module.attributes[name])
    start, end = map(module.position, calls)
    between = any(start < module.position(each) < end for each in waits)
    together = module.function_of(calls[0]) is module.function_of(calls[1])
    return together and not between and not _exclude(module, *calls)


def _exclude(module: Module, first: ast.Call, second: ast.Call) -> bool:
    for each, part in module.up(first):
        if isinstance(each, ast.If) and module.inside(second, each):
            return (part in each.body) != any(module.inside(second, it) for it in each.body)
    return False


def _started(module: Module) -> Iterator[_Start]:
    for call in module.calls:
        functions, several = [*map(module.meant, _targets(module, call))], False
        owner = module.class_of(call)
        if owner and _is_thread(module, owner):
            functions.append(module.method(owner, "run"))
        if any(functions):
            maps = "map" in getattr(call.func, "attr", "")
            several = maps or _is_repeated(module, call)
        yield from (_Start(call, function, several) for function in functions if function)


def _targets(module: Module, call: ast.Call) -> list[ast.expr]:
    if module.dotted(call.func) in _THREADS:
        given = argument(call, 1, "target", "function")
        return [given] if given else []
    of_pool = isinstance(call.func, ast.Attribute) and _is_of_pool(module, call.func)
    return call.args[:1] if of_pool else []


def _is_thread(module: Module, owner: ast.ClassDef) -> bool:
    return any(module.dotted(each) in _THREADS for each in owner.bases)


def _is_of_pool(module: Module, func: ast.Attribute) -> bool:
    if func.attr not in _STARTS or module.kind(func.value) is not Kind.POOL:
        return False
    makers = [part.node for part in module.origins(func.value)]
    calls = [each for each in makers if isinstance(each, ast.Call)]
    given = [it for each in calls for it in arguments(each)]
    return not any(isinstance(each, ast.Constant) and each.value == 1 for each in given)


def _is_repeated(module: Module, call: ast.Call) -> bool:
    """Return whether a call is made again while threads that it has started still run."""
    loop = _loop_around(module, call)
    function = module.function_of(call)
    if loop or function is None or module.asks_for(function, _WAITS):
        return bool(loop) and not module.asks_for(loop or call, _WAITS)
    own = (
        module.kind(each) is Kind.VARIABLE or module.class_of(each)
        for each in module.calls_in(function)
    )
    return not any(own) and any(_loop_around(module, each) for each in module.sites[function])


def _loop_around(module: Module, node: ast.AST) -> ast.AST | None:
    return next(module.loops_around(node, generators=True), None)


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
    """Return where that is made which all threads share, if it is certainly the same one."""
    parts = module.origins(owner)
    calls = [part.node for part in parts if isinstance(part.node, ast.Call)]
    several = any(None in part.path for part in parts)
    if several or any(_is_made_in_loop(module, each) for each in calls):
        return set()
    return {it for it in calls if module.kind(it) is kind and _is_shared(module, it, found)}


def _is_shared(module: Module, made: ast.Call, found: set[Function]) -> bool:
    """Return whether what a call makes is neither of one thread nor of one of several objects."""
    owner = module.class_of_method(module.function_of(made))
    objects = [each for each in module.calls if owner and module.class_of(each) is owner]
    own = (
        module.function_of(it) in found or _is_made_in_loop(module, it) for it in (made, *objects)
    )
    return not (owner and _is_thread(module, owner)) and not any(own)


def _is_made_in_loop(module: Module, made: ast.Call) -> bool:
    """Return whether a loop makes several, and is no container that is read by its keys."""
    loop = _loop_around(module, made)
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
    compiled = all(map(module.compiles, getattr(function, "decorator_list", ())))
    if not compiled or module.asks_for(function, {"acquire"}):
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
