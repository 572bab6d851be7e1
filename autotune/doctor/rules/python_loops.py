"""Loops of training steps in Python, and the values that they read in each round."""

import ast
import re
from collections.abc import Iterator
from functools import cache, partial

from autotune.code.names import Loop, reached
from autotune.doctor import Function, Hits, Kind, Module, PythonLoop, argument, arguments, rule

_UPDATES = {"apply_gradients", "apply", "minimize"}
_COMBINING = ("tf.reduce_", "tf.math.", "tf.add", "keras.ops.")
_GATHERING = {"reduce", "gather", "experimental_local_results"}
_FEW = 3
_CONVERTING = {"float", "int", "bool", "print", "str", "repr", "format"}
_CONVERTING_METHODS = {"numpy", "item", "tolist"}
_CONVERTING_MODULES = ("numpy.", "wandb.log", "mlflow.log_metric")
_LOGGING = re.compile(r"(absl\.)?logging\.(info|warning|error|log)")
_SOMETIMES = (
    *(ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler, ast.For, ast.AsyncFor),
    *(ast.While, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
"""A read inside of one of these may not be needed in every round."""


@rule
def run_outside_function(module: Module) -> Hits:
    for call in () if module.is_graph_mode else module.runs:
        # A function may be compiled by itself, and strategies then compile the whole call.
        meant = module.follow(argument(call, 0, "fn"))
        compiled = meant and (meant.compiled or meant.function in module.compiled)
        known = meant or (call.args and module.kind(call.args[0]) is Kind.MODEL)
        line = _loop_of(module, call, set()) if known and not compiled else 0
        if line:
            how = f"repeatedly from Python, by the loop in line {line}"
            yield call, f"strategy.run is called {how}, outside a tf.function."


@rule
def sync_every_step(module: Module) -> Hits:
    for loop, steps in _step_loops(module):
        seen: set[int] = set()
        for node in (each for statement in loop.body for each in module.walk(statement)):
            if not isinstance(node, ast.Call | ast.If) or node.lineno in seen:
                continue
            above = [*module.above(node)]
            sometimes = any(isinstance(it, _SOMETIMES) for it in above[: above.index(loop)])
            reads = [] if sometimes else _reads(module, node)
            read = next((it for it in reads if _is_of_step(module, loop, steps, it)), None)
            if read is not None:
                seen.add(node.lineno)
                what = f"`{ast.unparse(read)}` reads a value in every step of the loop"
                place = node.test if isinstance(node, ast.If) else node
                yield place, f"{what} in line {loop.lineno}: Python waits for the device each time."


def _loop_of(module: Module, call: ast.Call, passed: set[Function | None]) -> int:
    """Return the line of the loop by which Python makes a call again and again; 0 for none."""
    function = module.function_of(call)
    if not module.is_python(function):
        return 0
    loops = (each for each in module.loops_around(call) if is_repeated(module, each))
    if loop := next(loops, None):
        return getattr(loop, "lineno", 0)
    sites = module.sites[function] if function not in passed else []
    passed.add(function)
    meant = ((site, module.follow(site.func)) for site in sites)
    lines = (_loop_of(module, site, passed) for site, each in meant if each and not each.compiled)
    return next(filter(None, lines), 0)


def is_repeated(module: Module, loop: ast.AST) -> bool:
    """Return whether a loop has more than a few rounds, by its looks."""
    if isinstance(loop, PythonLoop) and any(isinstance(each, ast.Break) for each in loop.body):
        return False
    if isinstance(loop, ast.For | ast.AsyncFor):
        return not _is_few(module, loop.iter)
    generators = getattr(loop, "generators", None)
    return not generators or not _is_few(module, generators[0].iter)


def _is_few(module: Module, node: ast.expr) -> bool:
    match node:
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr="take") | ast.Name(id="range"), args=[*_, last]):
            count = getattr(last, "value", None)
            return isinstance(count, int) and count <= _FEW
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return _is_few(module, inner)
        case ast.Call(func=func):
            # AutoGraph makes it a loop of the graph.
            return module.dotted(func) == "tf.range"
    return False


def _step_loops(module: Module) -> Iterator[tuple[PythonLoop, list[ast.expr]]]:
    """Yield the loops that run one step in each round as Python, with the steps' results."""
    trains_once = cache(partial(_trains_once, module))
    found: dict[PythonLoop, list[ast.expr]] = {}
    for call in module.calls:
        loop = module.loop_around(call)
        if isinstance(loop, PythonLoop):
            function = module.runs.get(call, module.meant(call.func))
            if function and not module.is_wrapped(function) and trains_once(function):
                found.setdefault(loop, []).append(call)
            elif _is_update(module, call):
                found.setdefault(loop, []).extend(_losses(module, loop))
    for loop, results in found.items():
        over = "" if isinstance(loop, ast.While) else ast.unparse(loop.target).lower()
        in_python = module.is_python(module.function_of(loop))
        if in_python and "epoch" not in over and is_repeated(module, loop):
            yield loop, results


def _losses(module: Module, loop: PythonLoop) -> Iterator[ast.expr]:
    """Yield the losses of a loop that is a training step by itself."""
    for call in module.calls_in(loop):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "gradient" and call.args:
            for each in module.bindings_of(call.args[0]):
                if each.plain is not None and module.inside(each.node, loop):
                    yield each.plain


def _trains_once(module: Module, function: Function) -> bool:
    everything = module.all_called([function])
    nodes = (it for each in everything for it in module.walk(each))
    inside = {each for loop in nodes if isinstance(loop, Loop) for each in module.walk(loop)}
    named = (each for each in inside if isinstance(each, ast.Name | ast.Attribute))
    called = module.all_called(map(module.meant, named))
    repeated = any(isinstance(each, ast.Call) and _is_update(module, each) for each in inside)
    repeated |= any(_updates(module, each) for each in called)
    return any(_updates(module, each) for each in everything) and not repeated


def _updates(module: Module, node: ast.AST) -> bool:
    return any(_is_update(module, each) for each in module.calls_in(node))


def _is_update(module: Module, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _UPDATES:
        return False
    kind = module.kind(call.func.value)
    return kind is Kind.OPTIMIZER or (kind is None and call.func.attr != "apply")


def _made_from(module: Module, loop: ast.AST, node: ast.expr) -> list[ast.expr]:
    """Return the tensors in a loop that another one is computed from."""
    match node:
        case ast.Call(func=func, args=args) if module.dotted(func).startswith(_COMBINING):
            return args
        case ast.Call(func=ast.Attribute(attr=name, value=owner), args=args):
            gathers = name in _GATHERING and module.kind(owner) is Kind.STRATEGY
            return args if gathers else []
        case ast.Subscript(value=value):
            return [value]
        case ast.BinOp(left=left, right=right):
            return [left, right]
    bound = [it for it in module.bindings_of(node) if module.inside(it.node, loop)]
    last = module.last_before(node, bound)
    return [last.value] if last and last.is_assigned and last.value else []


def _reads(module: Module, node: ast.Call | ast.If) -> list[ast.expr]:
    match node:
        case ast.If(test=ast.Compare(left=left, comparators=others)):
            return [left, *others]
        case ast.If(test=test):
            return [test]
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in _CONVERTING_METHODS:
            return [value]
        case ast.Call(func=func):
            dotted = module.dotted(func)
            builtin = getattr(func, "id", "") in _CONVERTING and not module.bindings_of(func)
            logs = dotted.startswith(_CONVERTING_MODULES) or _LOGGING.fullmatch(dotted)
            parts = (part for argument in arguments(node) for part in shown(argument))
            return [*parts] if builtin or logs else []
    return []


def shown(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.JoinedStr(values=parts):
            return [each.value for each in parts if isinstance(each, ast.FormattedValue)]
        case ast.Call(func=ast.Attribute(attr="format")):
            return arguments(node)
        case ast.BinOp(op=ast.Mod(), right=ast.Tuple(elts=several)):
            return several
        case ast.BinOp(op=ast.Mod(), right=right):
            return [right]
        case ast.Dict(values=values):
            return [part for each in values for part in shown(each)]
    return [node]


def _is_of_step(module: Module, loop: ast.AST, steps: list[ast.expr], node: ast.expr) -> bool:
    """Return whether a value comes from a step of a loop, or from a count of its steps."""
    match node:
        case ast.Call(func=ast.Attribute(attr="result", value=owner)):
            return module.kind(owner) is Kind.METRIC
        case ast.Attribute(attr="iterations", value=owner):
            return module.kind(owner) is Kind.OPTIMIZER
    made_from = reached([node], lambda each: _made_from(module, loop, each))
    return not made_from.isdisjoint(steps)
