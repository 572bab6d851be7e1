"""Sums and means over the replicas: losses divided wrongly, and clipped gradients.

Rules ask for the terms of the loss that a gradient is taken of, and whether each is a mean, a sum
or a number for each example of one replica.
"""

import ast
import re
from collections.abc import Collection, Iterator

from autotune.code.functions import updated
from autotune.code.names import Binding
from autotune.doctor import Hits, Kind, Module, argument, last_name, rule
from autotune.doctor.rules.global_batch import PER_REPLICA

_MEANS = {"tf.reduce_mean", "tf.math.reduce_mean", "keras.ops.mean", "keras.backend.mean"}
_AVERAGES = {"tf.nn.compute_average_loss", "tf.nn.scale_regularization_loss"}
_SUMS = {"tf.reduce_sum", "tf.math.reduce_sum", "keras.ops.sum", "tf.cast"}
_ADDS_UP = {"tf.add_n", "tf.reduce_sum", "tf.math.add_n", "tf.math.reduce_sum", "sum"}
_CLIPS = ("tf.clip_by_global_norm", "tf.clip_by_norm", "tf.clip_by_value")
_LOSS_SCALERS = {"get_scaled_loss", "scale_loss"}
_BY_HAND = {
    *("all_reduce", "merge_call"),
    *("experimental_aggregate_gradients", "skip_gradients_aggregation"),
}
"""A function that names one of these may add up the gradients in another way."""
_MEAN = "keras.metrics.Mean"
_SHARES = "averages the replicas' shares of a loss: with n replicas it shows 1/n of it."
_SUMMED = "the optimizer sums the gradients of all replicas."
_DEEPEST = 12
_PER_EXAMPLE = re.compile(
    r"keras\.losses\.([a-z]\w*|MSE|MAE|MAPE|MSLE|KLD)|tf\.nn\.\w*cross_entropy\w*"
    r"|(tf|tf\.math|keras\.ops)\.(square|squared_difference|abs)"
)
_REPLICAS = re.compile(r"num_replicas_in_sync|n(um)?_?(of_)?(replicas|gpus)")
_GLOBAL = re.compile(r"global_?batch")


@rule
def mean_over_replica(module: Module) -> Hits:
    functions = module.on_replicas
    scales = _BY_HAND | {"num_replicas_in_sync", "MEAN"}
    if module.may_be_one_device or any(scales & module.names_in(each) for each in functions):
        return
    for loss in _losses(module):
        for term in _terms(module, loss):
            match term:
                case ast.Call(func=func, args=[ast.Attribute(attr="losses")]) if (
                    module.dotted(func) or ast.unparse(func)
                ) in _ADDS_UP:
                    yield term, f"Every replica adds the whole of `model.losses`, and {_SUMMED}"
                    break
            size = _size(module, term)
            by_one = size is not None and _counts_one_replica(module, size)
            if by_one or _reduces(module, term, _MEANS):
                yield term, f"The loss is averaged over one replica's examples, but {_SUMMED}"
                break


@rule
def loss_divided_twice(module: Module) -> Hits:
    for loss in _losses(module) if not module.may_be_one_device else ():
        for node in (each for term in _terms(module, loss) for each in _divisions(module, term)):
            yield node, f"`{ast.unparse(node)}` divides a loss that is already divided."


@rule
def clipped_in_replica(module: Module) -> Hits:
    functions = module.replica_functions
    names = {name for each in functions for name in module.names_in(each)}
    sums = names & (_BY_HAND | {"batch_reduce", "batch_reduce_to"})
    if module.may_be_one_device or sums or not names & {"apply_gradients", "apply"}:
        return
    for call in module.calls_of(*_CLIPS):
        made_from = module.ingredients(call.args[0]) if call.args else ()
        if "gradient" in map(last_name, made_from) and module.function_of(call) in functions:
            what = ast.unparse(call.func)
            yield call, f"`{what}` clips one replica's gradients before they are summed."


@rule
def share_in_mean(module: Module) -> Hits:
    around = (it for each in module.attributes["result"] for it in module.above(each))
    scaled = (it for it in around if isinstance(it, ast.BinOp))
    undone = any(_counts_replicas(module, it) for each in scaled for it in (each.left, each.right))
    if module.may_be_one_device or undone:
        return
    for node, shown, value in (*_updated(module), *_reduced(module), *_returned(module)):
        values = [value, *(each for each, _ in module.handed(value) if each)]
        if any(_is_share(module, it) for each in values for it in _terms(module, each)):
            yield node, f"`{ast.unparse(shown)}` {_SHARES}"


def _updated(module: Module) -> Iterator[tuple[ast.AST, ast.AST, ast.expr]]:
    """Yield the values that replicas put into means: the call, the metric and the value."""
    for call in module.calls:
        metric, value = updated(call), argument(call, 0, "values")
        if value and module.function_of(call) in module.on_replicas and _is_mean(module, metric):
            yield call, metric, value


def _is_mean(module: Module, metric: ast.expr) -> bool:
    """Return whether a metric is a mean, by its maker, or as Keras's own one of the loss."""
    binding = module.only(metric)
    if binding and binding.is_each and last_name(binding.value) == "metrics":
        return True
    return {module.called(it.node) for it in module.origins(metric) if module.is_end(it)} == {_MEAN}


def _reduced(module: Module) -> Iterator[tuple[ast.AST, ast.AST, ast.expr]]:
    """Yield the results of the function on each replica of which `reduce` takes the mean."""
    for call, _ in module.methods(Kind.STRATEGY, "reduce"):
        how, value = argument(call, 0, "reduce_op"), argument(call, 1, "value")
        if value and how and "MEAN" in (last_name(how), module.constant(how)):
            binding = module.only(value)
            path = binding.path if binding and binding.is_assigned else ()
            whole = binding.value if path and binding and binding.value else value
            for each in _terms(module, whole, sums=False):
                run = module.runs.get(each) if isinstance(each, ast.Call) else None
                for result in module.returned[run][:1]:
                    parts = result.elts if isinstance(result, ast.Tuple) else []
                    chosen = parts[path[0] :][:1] if path else [result]
                    yield from ((call, call.func, each) for each in chosen)


def _returned(module: Module) -> Iterator[tuple[ast.AST, ast.AST, ast.expr]]:
    """Yield the values that steps of Keras return, which Keras averages over the replicas."""
    for step in module.keras_steps:
        for result in module.returned[step]:
            match result:
                case ast.Dict(values=shown):
                    yield from ((each, each, each) for each in shown)
                case ast.Call(func=ast.Name(id="dict"), keywords=named):
                    yield from ((each.value, each.value, each.value) for each in named)


def _is_share(module: Module, node: ast.expr) -> bool:
    """Return whether a value is a replica's part of a sum over all of them."""
    size, divided = _size(module, node), list[tuple[ast.expr, ast.expr]]()
    if _is_divided(module, node) or (size is not None and _is_batch_of_all(module, size)):
        return True
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name() as model, attr="compute_loss")):
            own = any(getattr(each, "name", "") == "compute_loss" for each in module.functions)
            owner = module.class_of(model)
            keras = owner and module.class_kind(owner) is Kind.MODEL
            return bool(keras) and module.has_keras_3 and not own
        case ast.BinOp(left, op, right):
            divided = _divided(module, left, op, right)
    last = module.binding_at(node, module.bindings_of(node))
    match last.node if last else None:
        case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
            divided = _divided(module, target, op, value)
    return any(
        _counts_replicas(module, by) or (_counts_all(module, by) and _reduces(module, it, _SUMS))
        for it, by in divided
    )


def _is_batch_of_all(module: Module, size: ast.expr) -> bool:
    """Return whether a number of examples is that of the batches that replicas share."""
    named = PER_REPLICA.search(ast.unparse(size).lower())
    batches = (
        argument(it, 0, "batch_size") for it in module.calls if last_name(it.func) == "batch"
    )
    used = any(it is not None and ast.dump(it) == ast.dump(size) for it in batches)
    return used and not named and not module.attributes["distribute_datasets_from_function"]


def _losses(module: Module) -> Iterator[ast.expr]:
    """Yield the losses of which gradients are taken, on replicas or in a step of Keras."""
    for call in module.calls:
        taken = False
        match call.func:
            case ast.Attribute(attr="minimize", value=optimizer):
                taken = module.kind(optimizer) is Kind.OPTIMIZER
            case ast.Attribute(attr="gradient", value=tape):
                bindings = module.bindings_of(tape)
                entered = [each.value for each in bindings if isinstance(each.node, ast.withitem)]
                taken = "tf.GradientTape" in map(module.called, entered)
        if taken and call.args and module.function_of(call) in module.on_replicas:
            yield call.args[0]


def _terms(
    module: Module, node: ast.expr, *, sums: bool = True, depth: int = 0
) -> Iterator[ast.expr]:
    """Yield a value as each of its names and calls has it, and the summands of a sum."""
    if depth > _DEEPEST:
        return
    yield node
    match node:
        case ast.BinOp(left, ast.Add(), right) if sums:
            inner = [left, right]
        case ast.Name():
            value = _only_value(module, node)
            inner = [value] if value else _results(module, node)
        case ast.Lambda(body=body):
            inner = [body]
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in _LOSS_SCALERS:
            inner = [first]
        case _:
            inner = _results(module, node.func) if isinstance(node, ast.Call) else []
    for each in inner:
        yield from _terms(module, each, sums=sums, depth=depth + 1)


def _results(module: Module, node: ast.expr) -> list[ast.expr]:
    results = module.returned[module.meant(node)]
    return results if len(results) == 1 else []


def _divisions(module: Module, node: ast.expr) -> Iterator[ast.AST]:
    """Yield the second divisions of a term of a loss, also in place, as `loss /= replicas`."""
    if isinstance(node, ast.BinOp) and _divides_again(module, node.left, node.op, node.right):
        yield node
    last = module.binding_at(node, (it for it in module.bindings_of(node) if not _adds(it)))
    match last.node if last else None:
        case ast.AugAssign(target=ast.Name() as target, op=op, value=value) as change:
            if _divides_again(module, target, op, value):
                yield change


def _divides_again(module: Module, left: ast.expr, op: ast.operator, right: ast.expr) -> bool:
    """Return whether an operation divides a value for the same reason as something before."""
    for value, by in _divided(module, left, op, right):
        counts = _counts_replicas(module, by)
        whole = [*_terms(module, value, sums=False)] if counts or _counts_all(module, by) else []
        if any(_is_divided(module, each) for each in whole):
            return True
        if not counts and any(_reduces(module, each, _MEANS) for each in whole):
            return True
    return False


def _divided(
    module: Module, left: ast.expr, op: ast.operator, right: ast.expr
) -> list[tuple[ast.expr, ast.expr]]:
    """Return the values that an operation divides, each with the divisor."""
    divided = [(left, right)] if isinstance(op, ast.Div) else []
    for value, factor in ((left, right), (right, left)) if isinstance(op, ast.Mult) else ():
        match _only_value(module, factor):
            case ast.BinOp(ast.Constant(value=1), ast.Div(), by):
                divided.append((value, by))
    return divided


def _is_divided(module: Module, node: ast.expr) -> bool:
    size = _size(module, node)
    if size is not None or module.called(node) in _AVERAGES:
        return size is None or _counts_all(module, size)
    # A loss of Keras 3 without a given reduction divides by itself.
    made = _loss_object(module, node.func) if isinstance(node, ast.Call) else None
    given = {"reduction", None} & {it.arg for it in made.keywords} if made else ()
    return made is not None and module.has_keras_3 and not given


def _counts_replicas(module: Module, node: ast.expr) -> bool:
    match module.resolved(node):
        case ast.Call(args=[given, *_]):
            return _counts_replicas(module, given)
        case ast.Name() | ast.Attribute() as plain:
            return bool(_REPLICAS.fullmatch(ast.unparse(plain).lower().rpartition(".")[2]))
    return False


def _counts_all(module: Module, node: ast.expr) -> bool:
    value = module.resolved(node)
    names = f"{ast.unparse(node)} {ast.unparse(value)}".lower()
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return bool(_REPLICAS.search(names))
    return bool(_GLOBAL.search(names)) and not _counts_one_replica(module, node)


def _counts_one_replica(module: Module, node: ast.expr) -> bool:
    named = isinstance(node, ast.Name | ast.Attribute)
    if named and PER_REPLICA.search(ast.unparse(node).lower()):
        return True
    match module.resolved(node):
        case ast.Call(func=func, args=[given, *_]):
            name = module.dotted(func) or ast.unparse(func)
            casts = name in {"tf.cast", "float"}
            return name == "len" or (casts and _counts_one_replica(module, given))
        case ast.Subscript(value=shape, slice=ast.Constant(value=0)):
            return "shape" in ast.unparse(shape)
    return False


def _reduces(module: Module, node: ast.expr, names: Collection[str]) -> bool:
    """Return whether a call of such a name makes one number of those of all examples."""
    match node:
        case ast.Call(args=[values], keywords=keywords) if module.called(node) in names:
            options = [(each.arg, getattr(each.value, "value", each)) for each in keywords]
            whole = all(it in {("axis", 0), ("axis", None)} for it in options)
            return whole and _is_per_example(module, values)
    return False


def _size(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the number of examples that a sum is divided by, here or by TensorFlow."""
    match node:
        case ast.BinOp(total, ast.Div(), size) if _reduces(module, total, _SUMS):
            return size
        case ast.Call() as call if module.called(call) in _AVERAGES:
            return argument(call, None, "global_batch_size")
    return None


def _is_per_example(module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Return whether a value certainly holds a number for each example, not scaled by anything."""
    inner: list[ast.expr] = []
    match node:
        case ast.Name() if value := _only_value(module, node):
            inner = [value]
        case ast.BinOp(left, ast.Add(), right):
            inner = [left, right]
        case ast.BinOp(left, ast.Mult(), right) if "mask" in ast.unparse(node).lower():
            inner = [left, right]
        case ast.BinOp(op=ast.Pow()):
            return True
        case ast.Call(args=[first, *_]) if module.called(node) in _SUMS:
            inner = [first]
        case ast.Call(func=func):
            made = _loss_object(module, func)
            reduction = argument(made, None, "reduction") if made else None
            whole = isinstance(reduction, ast.Constant) and reduction.value in {None, "none"}
            named = _PER_EXAMPLE.fullmatch(module.dotted(func))
            return bool(named) or whole or getattr(reduction, "attr", "") == "NONE"
    return depth < _DEEPEST and any(_is_per_example(module, each, depth + 1) for each in inner)


def _loss_object(module: Module, node: ast.expr) -> ast.Call | None:
    """Return the call that makes the loss object that an expression is."""
    made = _only_value(module, node)
    return made if isinstance(made, ast.Call) and module.kind(node) is Kind.LOSS else None


def _only_value(module: Module, node: ast.expr) -> ast.expr | None:
    """Return the node itself, or the value of a name: None if several, or if scaled later."""
    if not isinstance(node, ast.Name):
        return node
    bindings = [each for each in module.bindings_of(node) if not _adds(each)]
    binding = bindings[0] if len(bindings) == 1 else module.binding_at(node, bindings)
    return binding.plain if binding else None


def _adds(binding: Binding) -> bool:
    """Return whether a name is only added to, or masked, where it is bound again."""
    match binding.node:
        case ast.AugAssign(op=ast.Mult(), value=value):
            return "mask" in ast.unparse(value).lower()
        case ast.AugAssign(op=ast.Add()):
            return True
    return False
