"""Lists that name one dataset for every device."""

import ast
from collections.abc import Iterator

from autotune.doctor import Comprehension, Function, Hits, Kind, Module, rule
from autotune.doctor.code.kinds import ITERATED
from autotune.doctor.code.values import Node, Part, repeated

_KEEP_ALL = {"prefetch", "cache", "repeat", "with_options", "batch", "map"}
"""Methods after which a dataset has the same examples in the same order."""
_ORDERED = {f"tf.data.Dataset.{name}" for name in ("range", "from_tensor_slices", "from_tensors")}
"""What makes the same dataset again each time."""
_CONTAINERS = ast.BinOp | ast.List | ast.Tuple | ast.Dict | Comprehension
_HOLDERS = Function | ast.For | ast.AsyncFor
_SHOWS = {"print", "str", "format"}
_SENTENCE = "Each device gets the whole dataset: this holds the same one for all of them."


@rule
def same_dataset_on_devices(module: Module) -> Hits:
    for call in module.calls_of("tf.device"):
        block = module.statement_of(call)
        if not call.args or not isinstance(block, ast.With | ast.AsyncWith):
            continue
        names = _names(module, call.args[0])
        if any(None in part.path for each in names for part in module.origins(each)):
            for read in _iterated(module, block):
                parts = module.origins(read)
                sources = _sources(module, parts)
                if sources and _only_place(module, call.args[0], {part.node for part in parts}):
                    yield from ((each, _SENTENCE) for each in sources)


def _names(module: Module, node: ast.AST) -> list[ast.Name]:
    return [each for each in module.walk(node) if isinstance(each, ast.Name)]


def _iterated(module: Module, block: ast.With | ast.AsyncWith) -> Iterator[ast.expr]:
    for node in module.walk(block):
        match node:
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                read = node.iter
                while isinstance(read, ast.Call) and _name(read) in ITERATED and read.args:
                    read = read.args[0]
                yield read
            case ast.Call(func=ast.Name(id="next"), args=[first, *_]):
                yield first


def _name(node: ast.AST) -> str:
    return getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""


def _sources(module: Module, parts: list[Part]) -> list[ast.AST]:
    """Return where the same dataset is put into a container again and again.

    Empty if what a device reads may come from elsewhere as well.
    """
    found: list[ast.AST] = []
    for part in parts:
        node = part.node
        if part.path != (None,) or isinstance(module.parents[node], ast.BinOp):
            continue
        puts = [*module.stored(node)] if isinstance(node, ast.Name | ast.Attribute) else []
        for put in puts:
            loop = next(module.loops_around(put), None)
            if not loop or _depends(module, put, loop) or not _is_whole(module, put, once=False):
                return []
        found += puts
        if isinstance(node, _CONTAINERS) or repeated(node) or module.is_end(part):
            element, once = _element(module, node), not isinstance(node, Comprehension)
            held = (getattr(node, name, ()) for name in ("elts", "keys", "args", "generators"))
            is_empty = isinstance(node, ast.List | ast.Dict | ast.Call) and not any(held)
            match node:
                case ast.ListComp(
                    elt=ast.Call(func=ast.Name(id="iter"), args=[ast.Name() as it])
                ) if _depends(module, it, node):  # An iterator of each.
                    found += _sources(module, module.origins(it))
                case _ if element is not None and _is_whole(module, element, once=once):
                    found.append(node)
                case _ if not is_empty:
                    return []
    return found


def _element(module: Module, node: Node) -> ast.expr | None:
    match node:
        case ast.BinOp(left=ast.List(elts=[only]) | ast.Tuple(elts=[only]), op=ast.Mult()):
            return None if getattr(node.right, "value", 2) == 1 else only
        case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Dict(values=several):
            return several[0] if len(several) > 1 and len({*map(ast.dump, several)}) == 1 else None
        case ast.DictComp(value=value) | ast.ListComp(elt=value) | ast.GeneratorExp(elt=value):
            return value if not _depends(module, value, node) else None
    return next(iter(repeated(node)), None)


def _depends(module: Module, node: ast.expr, loop: ast.AST) -> bool:
    """Return whether a value may differ from round to round of a loop."""
    bound = (it.node for each in _names(module, node) for it in module.bindings_of(each))
    return any(module.inside(each, loop) for each in bound)


def _is_whole(module: Module, node: ast.expr, *, once: bool) -> bool:
    """Return whether it is a dataset, evaluated once for all devices, and no shared iterator."""
    if module.kind(node) is not Kind.DATASET:
        return False
    while isinstance(node, ast.Call) and not once and node.args and _name(node) == "iter":
        node = node.args[0]
    while isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _KEEP_ALL:
        node = getattr(node.func, "value", node)
    if isinstance(node, ast.Name | ast.Attribute):
        return all(_name(part.node) != "iter" for part in module.origins(node))
    return module.called(node) in _ORDERED


def _only_place(module: Module, placed: ast.expr, parts: set[Node]) -> bool:
    """Return whether what changes from device to device is only the device and its dataset."""
    for each in (it for name in _names(module, placed) for it in module.bindings_of(name)):
        holders = (each.node, *module.above(each.node))
        holder = next((it for it in holders if isinstance(it, _HOLDERS)), None)
        if holder is None or not module.inside(placed, holder):
            continue
        changing = _bound_by(module, holder)
        for use in _names(module, holder):
            if isinstance(use.ctx, ast.Load) and use.id in changing:
                above = {use, *module.above(use)}
                shown = any(_name(it) in _SHOWS for it in above)
                if not (above & parts or placed in above or shown):
                    return False
    return True


def _bound_by(module: Module, holder: _HOLDERS) -> set[str]:
    if isinstance(holder, ast.For | ast.AsyncFor):
        return {each.id for each in _names(module, holder.target)}
    given = (each for each in module.walk(holder.args) if isinstance(each, ast.arg))
    return {each.arg for each in given} - {"self"}
