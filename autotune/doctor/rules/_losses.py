"""The loss that a gradient is taken of, and what it is over the examples of one replica."""

import ast
import re
from collections.abc import Iterator

from autotune.doctor import Kind, Module, argument
from autotune.doctor.code.scopes import Binding

_MEANS = {"tf.reduce_mean", "tf.math.reduce_mean", "keras.ops.mean", "keras.backend.mean"}
_AVERAGES = {"tf.nn.compute_average_loss", "tf.nn.scale_regularization_loss"}
_SUMS = {"tf.reduce_sum", "tf.math.reduce_sum", "keras.ops.sum", "tf.cast"}
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
    for call in module.calls:
        if call.args and module.function_of(call) in functions and _is_gradient(module, call.func):
            yield call.args[0]


def _is_gradient(module: Module, func: ast.expr) -> bool:
    match func:
        case ast.Attribute(attr="minimize", value=optimizer):
            return module.kind(optimizer) is Kind.OPTIMIZER
        case ast.Attribute(attr="gradient", value=tape):
            bindings = module.bindings_of(tape)
            entered = [each.value for each in bindings if isinstance(each.node, ast.withitem)]
            calls = [each for each in entered if isinstance(each, ast.Call)]
            return any(module.dotted(each.func) == "tf.GradientTape" for each in calls)
    return False


def terms(
    module: Module, node: ast.expr, *, sums: bool = True, depth: int = 0
) -> Iterator[ast.expr]:
    """Yield what a value stands for, name by name and call by call, and what a sum adds up."""
    if depth > _DEEPEST:
        return
    yield node
    match node:
        case ast.BinOp(left, ast.Add(), right) if sums:
            inner = [left, right]
        case ast.Name() if value := only_value(module, node):
            inner = [value]
        case ast.Name():
            inner = _results(module, node)
        case ast.Lambda(body=body):
            inner = [body]
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _LOSS_SCALERS:
            inner = [first]
        case _:
            inner = _results(module, node.func) if isinstance(node, ast.Call) else []
    for each in inner:
        yield from terms(module, each, sums=sums, depth=depth + 1)


def _results(module: Module, node: ast.expr) -> list[ast.expr]:
    function = module.meant(node)
    results = module.returned[function] if function else []
    return results if len(results) == 1 else []


def is_mean(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or module.dotted(node.func) not in _MEANS:
        return False
    options = [(each.arg, getattr(each.value, "value", each)) for each in node.keywords]
    whole = len(node.args) == 1 and all(it in {("axis", 0), ("axis", None)} for it in options)
    return whole and is_per_example(module, node.args[0])


def is_sum(module: Module, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or module.dotted(node.func) not in _SUMS:
        return False
    return len(node.args) == 1 and not node.keywords and is_per_example(module, node.args[0])


def is_average(module: Module, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and module.dotted(node.func) in _AVERAGES


def batch_of_average(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the number of examples that TensorFlow divides a loss by, if one is given."""
    if not isinstance(node, ast.Call) or not is_average(module, node):
        return None
    return argument(node, None, "global_batch_size")


def counts_one_replica(module: Module, node: ast.expr) -> bool:
    named = isinstance(node, ast.Name | ast.Attribute)
    if named and _PER_REPLICA.search(ast.unparse(node).lower()):
        return True
    match module.resolved(node):
        case ast.Call(func=func, args=[given, *_]):
            name = module.dotted(func) or ast.unparse(func)
            casts = name in {"tf.cast", "float"}
            return name == "len" or (casts and counts_one_replica(module, given))
        case ast.Subscript(value=shape, slice=ast.Constant(value=0)):
            return "shape" in ast.unparse(shape)
    return False


def is_per_example(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Return whether a value certainly holds a number for each example, not scaled by anything."""
    inner: list[ast.expr] = []
    match node:
        case ast.Name() if value := only_value(module, node):
            inner = [value]
        case ast.BinOp(left, ast.Add(), right):
            inner = [left, right]
        case ast.BinOp(left, ast.Mult(), right) if "mask" in ast.unparse(node).lower():
            inner = [left, right]
        case ast.BinOp(op=ast.Pow()):
            return True
        case ast.Call(func=func, args=[first, *_]) if module.dotted(func) in _SUMS:
            inner = [first]
        case ast.Call(func=func):
            named = _PER_EXAMPLE.fullmatch(module.dotted(func))
            return named is not None or is_unreduced(module, func)
    return depth < _DEEPEST and any(is_per_example(module, each, depth + 1) for each in inner)


def is_unreduced(module: Module, node: ast.expr) -> bool:
    made = only_value(module, node) if isinstance(node, ast.Name) else node
    if module.kind(node) is not Kind.LOSS or not isinstance(made, ast.Call):
        return False
    match argument(made, None, "reduction"):
        case ast.Constant(value=value):
            return value in {None, "none"}
        case ast.Attribute(attr=name):
            return name == "NONE"
    return False


def only_value(module: Module, node: ast.Name) -> ast.expr | None:
    """Return what is assigned to a name; None where that is not one thing, or is scaled later."""
    bindings = [each for each in module.bindings_of(node) if not _adds(each)]
    binding = bindings[0] if len(bindings) == 1 else last_binding(module, node)
    return binding.plain if binding else None


def last_binding(module: Module, node: ast.Name) -> Binding | None:
    """Return the binding that a name has where it is read; None where that depends."""
    bindings = [each for each in module.bindings_of(node) if not _adds(each)]
    last = module.last_before(node, bindings)
    return last if last and module.is_certain(node, last) else None


def _adds(binding: Binding) -> bool:
    """Return whether a name is only added to, or masked, where it is bound again."""
    match binding.node:
        case ast.AugAssign(op=ast.Mult(), value=value):
            return "mask" in ast.unparse(value).lower()
        case ast.AugAssign(op=ast.Add()):
            return True
    return False
