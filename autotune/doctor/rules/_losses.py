"""The loss that a gradient is taken of, and what it is over the examples of one replica."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from operator import itemgetter

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.scopes import Binding, How

_MEANS = {"tf.reduce_mean", "tf.math.reduce_mean", "keras.ops.mean", "keras.backend.mean"}
_AVERAGES = {"tf.nn.compute_average_loss", "tf.nn.scale_regularization_loss"}
_SUMS = {"tf.reduce_sum", "tf.math.reduce_sum", "keras.ops.sum", "tf.cast"}
_CASTS = {"tf.cast", "float"}
_LOSS_SCALERS = {"get_scaled_loss", "scale_loss"}
_DEEPEST = 12
_PER_EXAMPLE = re.compile(
    r"keras\.losses\.([a-z]\w*|MSE|MAE|MAPE|MSLE|KLD)|tf\.nn\.\w*cross_entropy\w*"
    r"|(tf|tf\.math|keras\.ops)\.(square|squared_difference|abs)"
)
_PER_REPLICA = re.compile(r"per_?(replica|device|gpu|worker|core)|(replica|device|gpu)_?batch")


def losses(module: Module) -> Iterator[ast.expr]:
    """Yield what gradients are taken of, on replicas or in a step of Keras."""
    functions = module.replica_functions | module.keras_steps
    for call in module.tree.calls:
        if call.args and module.tree.function_of(call) in functions and _is_gradient(module, call):
            yield call.args[0]


def _is_gradient(module: Module, call: ast.Call) -> bool:
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "minimize":
        return module.kind(func.value) is Kind.OPTIMIZER
    if not isinstance(func, ast.Attribute) or func.attr != "gradient":
        return False
    tape = func.value
    bindings = module.scopes.bindings(tape.id, tape) if isinstance(tape, ast.Name) else []
    entered = (each.value for each in bindings if each.how is How.ENTERED)
    return any(
        isinstance(each, ast.Call) and module.dotted(each.func) == "tf.GradientTape"
        for each in entered
    )


def within(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the expression that another one stands for."""
    match node:
        case ast.Name():
            return only_value(module, node) or _only_result(module, node)
        case ast.Lambda():
            return node.body
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _LOSS_SCALERS:
            return first
        case ast.Call():
            return _only_result(module, node.func)
    return None


def _only_result(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the expression that a function of the module returns, if there is but one."""
    function = module.meant(node)
    results = module.functions.returned(function) if function else []
    return results[0] if len(results) == 1 else None


def _is_whole(option: ast.keyword) -> bool:
    """Return whether an option of a mean leaves it that of a vector as a whole."""
    axis = option.value
    return option.arg == "axis" and isinstance(axis, ast.Constant) and axis.value in {0, None}


def is_mean(module: Module, node: ast.expr) -> bool:
    """Return whether an expression is the mean of one number for each example."""
    if not isinstance(node, ast.Call) or module.dotted(node.func) not in _MEANS:
        return False
    whole = len(node.args) == 1 and all(map(_is_whole, node.keywords))
    return whole and is_per_example(module, node.args[0], 0)


def is_sum(module: Module, node: ast.expr) -> bool:
    """Return whether an expression is the sum of one number for each example."""
    if not isinstance(node, ast.Call):
        return False
    adds = module.dotted(node.func) in _SUMS and len(node.args) == 1 and not node.keywords
    return adds and is_per_example(module, node.args[0], 0)


def is_average(module: Module, node: ast.expr) -> bool:
    """Return whether TensorFlow divides a loss by a number of examples."""
    return isinstance(node, ast.Call) and module.dotted(node.func) in _AVERAGES


def batch_of_average(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the number of examples that TensorFlow is told to divide a loss by, if it is told."""
    if not isinstance(node, ast.Call) or not is_average(module, node):
        return None
    return next((each.value for each in node.keywords if each.arg == "global_batch_size"), None)


def counts_one_replica(module: Module, node: ast.expr) -> bool:
    """Return whether a number is certainly that of one replica's examples."""
    if isinstance(node, ast.Name | ast.Attribute) and _PER_REPLICA.search(
        ast.unparse(node).lower()
    ):
        return True
    value = module.scopes.value(node) or node
    match value:
        case ast.Call(func=func, args=[given, *_]):
            name = module.dotted(func) or ast.unparse(func)
            return name == "len" or (name in _CASTS and counts_one_replica(module, given))
        case ast.Subscript(value=shape, slice=ast.Constant(value=0)):
            return "shape" in ast.unparse(shape)
    return False


def is_per_example(module: Module, node: ast.expr, depth: int) -> bool:
    """Return whether a value certainly holds a number for each example, not scaled by anything."""
    if depth > _DEEPEST:
        return False
    match node:
        case ast.Name():
            value = only_value(module, node)
            return value is not None and is_per_example(module, value, depth + 1)
        case ast.BinOp(left, op, right):
            masks = isinstance(op, ast.Mult) and "mask" in ast.unparse(node).lower()
            parts = (left, right) if masks or isinstance(op, ast.Add) else ()
            found = any(is_per_example(module, each, depth + 1) for each in parts)
            return found or isinstance(op, ast.Pow)
        case ast.Call(func=func, args=[first, *_]) if module.dotted(func) in _SUMS:
            return is_per_example(module, first, depth + 1)
        case ast.Call(func=func):
            plain = _PER_EXAMPLE.fullmatch(module.dotted(func))
            return bool(plain) or is_unreduced(module, func)
    return False


def is_unreduced(module: Module, node: ast.expr) -> bool:
    """Return whether it is a Keras loss that gives a value for each example."""
    if module.kind(node) is not Kind.LOSS:
        return False
    value = only_value(module, node) if isinstance(node, ast.Name) else node
    options = value.keywords if isinstance(value, ast.Call) else []
    return any(each.arg == "reduction" and _is_none(each.value) for each in options)


def _is_none(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None or node.value == "none"
    return isinstance(node, ast.Attribute) and node.attr == "NONE"


def only_value(module: Module, node: ast.Name) -> ast.expr | None:
    """Return what is assigned to a name; None where that is not one thing, or is scaled later."""
    bindings = [each for each in module.scopes.bindings(node.id, node) if not _adds(each)]
    if len(bindings) == 1:
        return bindings[0].plain
    last = last_before(module, node)
    return last.plain if last and not isinstance(last.node, ast.AugAssign) else None


def last_before(module: Module, node: ast.Name) -> Binding | None:
    """Return the binding that a name has where it is read; None where that depends."""
    above = [*module.tree.above(node)]
    line = next((each.lineno for each in above if isinstance(each, ast.stmt)), 0)
    bindings = [each for each in module.scopes.bindings(node.id, node) if not _adds(each)]
    before = [(getattr(each.node, "lineno", line), each) for each in bindings]
    last = max((each for each in before if each[0] < line), key=itemgetter(0), default=None)
    return last[1] if last and _block(module, last[1].node) in above else None


def _block(module: Module, node: ast.AST) -> ast.AST | None:
    """Return the statement to which the lines around a node belong; `with` makes no block."""
    outer = (each for each in module.tree.above(node) if not isinstance(each, ast.With))
    return next(outer, None)


def _adds(binding: Binding) -> bool:
    """Return whether a name is only added to, or masked, where it is bound again."""
    node = binding.node
    if not isinstance(node, ast.AugAssign):
        return False
    masks = isinstance(node.op, ast.Mult) and "mask" in ast.unparse(node.value).lower()
    return masks or isinstance(node.op, ast.Add)
