"""A value for each replica, as `strategy.run` returns it, used as if it were one tensor."""

import ast
import re
from collections.abc import Iterator

from autotune.code.functions import updated
from autotune.code.values import SERVERS, Key
from autotune.doctor import Hits, Kind, Module, arguments, rule
from autotune.doctor.rules.python_loops import shown

_OF_TENSORS = {"numpy", "item", "tolist"}
_OF_NUMBERS = {"float", "int", "round", "abs", "sum", "min", "max"}
_OF_TENSORFLOW = re.compile(
    r"numpy\.(?!save)\w+|(absl\.)?logging\.(info|warning|error|debug)"
    r"|tf\.(reduce_\w+|(math|summary)\.\w+|add_n|cast|stack|concat|convert_to_tensor)"
)
_MARKS = {"distribute", "experimental_distribute_dataset", "num_replicas_in_sync", "scope"}
_GUARDS = re.compile(
    r"num_replicas|num_gpus|multi_?gpu|hasattr|isinstance|PerReplica|_context|\.values\b"
)
"""In a condition: the branches may be for one replica, or run by one."""
Use = tuple[ast.expr, tuple[Key, ...], str]
"""A value, the part of it that must be a tensor there, and the reason, which ends a sentence."""


@rule
def per_replica_as_tensor(module: Module) -> Hits:
    # Each worker of parameter servers is one replica, most often.
    servers = module.strategies and module.strategies <= SERVERS
    # A program may choose one device for its process.
    settings = map(module.statement_of, module.written("CUDA_VISIBLE_DEVICES"))
    chosen = [it.value for it in settings if isinstance(it, ast.Assign)]
    alone = chosen and not any("," in str(module.constant(it)) for it in chosen)
    known = module.strategies or any(map(module.attributes.get, _MARKS))
    if module.may_be_one_device or module.is_graph_mode or servers or alone or not known:
        return
    on_replicas = module.on_replicas | module.merging_functions
    seen: set[tuple[int, str]] = set()
    for value, part, why in (use for node in module.nodes for use in _uses(module, node)):
        place = value.lineno, ast.unparse(value)
        inside = any(each in on_replicas for each in module.above(value))
        if place not in seen and not inside and _is_of_each(module, value, *part):
            seen.add(place)
            what = f"Where there are several replicas, `{place[1]}` holds a value for each"
            yield from () if _may_be_one(module, value) else [(value, f"{what}: {why}.")]


def _uses(module: Module, node: ast.AST) -> Iterator[Use]:
    match node:
        case ast.Call():
            yield from _uses_by_call(module, node)
        case ast.FormattedValue(value=value):
            yield value, (), "it cannot be formatted as one number"
        case ast.BinOp(left=text, op=ast.Mod()) if _is_text(module, text):
            yield from ((it, (), "it cannot be formatted as one number") for it in shown(node))
        case ast.BinOp(left=first, right=second) | ast.AugAssign(target=first, value=second):
            yield from ((it, (), "it cannot be computed with") for it in (first, second))
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
            yield from ((it, (), "it cannot be compared") for it in (left, *node.comparators))


def _uses_by_call(module: Module, call: ast.Call) -> Iterator[Use]:
    name = ast.unparse(call.func)
    why = f"{name} does not take it"
    match call.func:
        case ast.Attribute(attr=attr, value=owner) if attr in _OF_TENSORS and not call.args:
            yield owner, (), f"it has no {attr}()"
            return
        case ast.Attribute(attr="format", value=text) if _is_text(module, text):
            yield from ((it, (), "it cannot be formatted as one number") for it in arguments(call))
            return
    builtin = name in _OF_NUMBERS and not module.bindings_of(call.func)
    if builtin or _OF_TENSORFLOW.fullmatch(module.dotted(call.func)):
        for each in arguments(call):
            yield each, (), why
            if module.kind(each, None) is Kind.SHARE:
                puts = [*module.stored(each)] if isinstance(each, ast.Name | ast.Attribute) else []
                late = f"{name} in line {call.lineno} does not take it"
                yield from ((put, (), late) for put in puts)
                yield from () if puts else [(each, (None,), why)]
    if module.kind(updated(call)) in {Kind.METRIC, Kind.LOSS}:
        yield from ((each, (), why) for each in arguments(call))


def _is_text(module: Module, node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(module.constant(node), str)


def _is_of_each(module: Module, node: ast.expr, *part: Key) -> bool:
    if module.kind(node, *part) is Kind.SHARE:
        return True
    last = module.binding_at(node, module.bindings_of(node))
    if part or last is None or last.value is None or not last.is_assigned:
        return False
    return module.kind(last.value, *last.path) is Kind.SHARE


def _may_be_one(module: Module, node: ast.expr) -> bool:
    """Return whether a condition, or a wrapper, may see to it that it is one tensor."""
    for each in module.above(node):
        if isinstance(each, ast.If | ast.IfExp) and _GUARDS.search(ast.unparse(each.test)):
            return True
        if isinstance(each, ast.Try) and each.handlers:
            return True
    for part in module.origins(node):
        source = part.node
        function = module.meant(source.func) if isinstance(source, ast.Call) else None
        if isinstance(source, ast.arg):
            function = module.function_with(source)
        if function and module.is_wrapped(function):
            return True
    return False
