"""Loops of Python around training steps, in which devices wait."""

import ast
import re

from autotune.doctor import Function, Hits, Kind, Module, arguments, rule
from autotune.doctor.code.steps import Steps, StepValues, is_repeated

@rule
def run_outside_function(module: Module) -> Hits:
    for run in () if module.is_graph_mode else module.runs:
        # What is run may be compiled by itself, and strategies then compile the whole call.
        is_model = bool(run.call.args) and module.kind(run.call.args[0]) is Kind.MODEL
        known = (run.function or is_model) and not run.compiled
        line = _loop_of(module, run.call, set()) if known else 0
        if line:
            how = f"repeatedly from Python, by the loop in line {line}"
            yield run.call, f"strategy.run is called {how}, outside a tf.function."


def _loop_of(module: Module, call: ast.Call, passed: set[Function]) -> int:
    """Return the line of the loop by which Python makes a call again and again; 0 for none."""
    function = module.function_of(call)
    if not module.is_python(function):
        return 0
    loops = (each for each in module.loops_around(call) if is_repeated(module, each))
    if loop := next(loops, None):
        return getattr(loop, "lineno", 0)
    lines: list[int] = []
    if function is not None and function not in passed:
        passed.add(function)
        meant = [(site, module.follow(site.func)) for site in module.sites[function]]
        plain = [site for site, each in meant if each and not each.compiled]
        lines = [_loop_of(module, site, passed) for site in plain]
    return next(filter(None, lines), 0)


_CONVERTING = {"float", "int", "bool", "print", "str", "repr", "format"}
_CONVERTING_METHODS = {"numpy", "item", "tolist"}
_CONVERTING_MODULES = ("numpy.", "wandb.log", "mlflow.log_metric")
_LOGGING = re.compile(r"(absl\.)?logging\.(info|warning|error|log)")
_SOMETIMES = (
    *(ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler, ast.For, ast.AsyncFor),
    *(ast.While, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
"""What stands in one of these may not be needed in every round."""


@rule
def sync_every_step(module: Module) -> Hits:
    for loop, steps in Steps(module).loops():
        values = StepValues(module, loop, steps)
        seen: set[int] = set()
        for node in (each for statement in loop.body for each in module.walk(statement)):
            if not isinstance(node, ast.Call | ast.If) or node.lineno in seen:
                continue
            reads = _reads(module, node) if _is_in_every_round(module, node, loop) else []
            read = next((each for each in reads if _is_of_step(module, values, each)), None)
            if read is not None:
                seen.add(node.lineno)
                what = f"`{ast.unparse(read)}` reads a value in every step of the loop"
                place = node.test if isinstance(node, ast.If) else node
                yield place, f"{what} in line {loop.lineno}: Python waits for the device each time."


def _is_in_every_round(module: Module, node: ast.AST, loop: ast.AST) -> bool:
    above = [*module.above(node)]
    return not any(isinstance(each, _SOMETIMES) for each in above[: above.index(loop)])


def _reads(module: Module, node: ast.Call | ast.If) -> list[ast.expr]:
    match node:
        case ast.If(test=ast.Compare(left=left, comparators=others)):
            return [left, *others]
        case ast.If(test=test):
            return [test]
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in _CONVERTING_METHODS:
            return [value]
        case ast.Call(func=func) if _converts(module, func):
            return [part for argument in arguments(node) for part in _shown(argument)]
    return []


def _converts(module: Module, func: ast.expr) -> bool:
    if isinstance(func, ast.Name) and func.id in _CONVERTING:
        return not module.bindings_of(func)
    dotted = module.dotted(func)
    return dotted.startswith(_CONVERTING_MODULES) or bool(_LOGGING.fullmatch(dotted))


def _shown(node: ast.expr) -> list[ast.expr]:
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
            return [part for each in values for part in _shown(each)]
    return [node]


def _is_of_step(module: Module, values: StepValues, node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="result", value=owner)):
            return module.kind(owner) is Kind.METRIC
        case ast.Attribute(attr="iterations", value=owner):
            return module.kind(owner) is Kind.OPTIMIZER
    return values.holds(node)
