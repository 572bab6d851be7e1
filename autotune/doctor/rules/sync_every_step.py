"""Device value read in every step.

Why: Python runs ahead and keeps the devices busy until it needs a value. Reading one in every step
leaves the devices idle while the next step is prepared.

Instead: Read it every 100 steps (`if step % 100 == 0:`), or accumulate it as a tensor and read it
at the end of the epoch.
"""

import ast
import re

from autotune.doctor import Hits, Kind, Module, Severity, Steps, StepValues, arguments, mended
from autotune.doctor.rules._examples import APPLY, MIRRORED, TRAIN_STEP

_CONVERTING = {"float", "int", "bool", "print", "str", "repr", "format"}
_CONVERTING_METHODS = {"numpy", "item", "tolist"}
_CONVERTING_MODULES = ("numpy.", "wandb.log", "mlflow.log_metric")
_LOGGING = re.compile(r"(absl\.)?logging\.(info|warning|error|log)")
_SOMETIMES = (
    *(ast.If, ast.IfExp, ast.BoolOp, ast.Match, ast.ExceptHandler, ast.For, ast.AsyncFor),
    *(ast.While, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
"""What stands in one of these may not be needed in every round."""


def check(module: Module) -> Hits:
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


BAD = f"""{MIRRORED}

def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(model(images, training=True), labels)
{APPLY}    return loss
{TRAIN_STEP}

for images, labels in strategy.experimental_distribute_dataset(make_dataset()):
    loss = strategy.reduce("SUM", train_step(images, labels), axis=None)
    print(loss.numpy())  # <- here
"""
SEVERITY = Severity.WARNING
GOOD = (
    mended(BAD, "    print", "    if step % 100 == 0:\n        print")
    .replace("for images, labels in ", "for step, (images, labels) in enumerate(")
    .replace("()):", "())):")
)
