"""Lists that name one dataset for every device."""

import ast
import re
from collections.abc import Iterable, Iterator

from autotune.code.values import ITERATED, Node, Part, repeated
from autotune.doctor import Comprehension, Function, Hits, Kind, Module, last_name, rule

_KEEP_ALL = {"prefetch", "cache", "repeat", "with_options", "batch", "map"}
"""Methods after which a dataset has the same examples in the same order."""
_ORDERED = {f"tf.data.Dataset.{name}" for name in ("range", "from_tensor_slices", "from_tensors")}
"""These make the same dataset each time."""
_CONTAINERS = ast.BinOp | ast.List | ast.Tuple | ast.Dict | Comprehension
_LOOPS = ast.For | ast.AsyncFor | ast.comprehension
_Holder = _LOOPS | Function
_Handed = dict[ast.AST | None, ast.arg]
"""Values that calls and threads hand to functions of the module, with the parameters."""
_SHOWS = {"print", "str", "format", "info"}
_DEVICES = {"device", "gpu", "tpu", "replica", "worker", "tower", "rank"}
_PARTS = _DEVICES | {"part", "shard", "split", "share", "slice", "chunk", "partition"}
_TIMES = {"epoch", "repeat", "repetition", "fold", "trial", "round"}
"""Words of names: of lists for devices, and of lists for other purposes."""
_DEEPEST = 4
_SENTENCE = "Each device gets the whole dataset: this holds the same one for all of them."


@rule
def same_dataset_on_devices(module: Module) -> Hits:
    reads = [*_reads(module)]
    for read in reads:
        handed = (value for value, is_each in module.handed(read) if value and not is_each)
        for given in (read, *handed):
            parts = _origins(module, given)
            sources = [it for it in _sources(module, parts) if not _is_later(module, it, given)]
            if sources:
                datasets = {*reads, *(part.node for part in parts)}
                holders = _holders(module, parts, {*sources})
                only_place = _changes_only_place(module, holders, datasets)
                if only_place and _is_for_devices(module, read, sources, holders):
                    yield from ((each, _SENTENCE) for each in sources)


def _reads(module: Module) -> Iterator[ast.expr]:
    """Yield the datasets of which batches are taken, or to which a model is fitted."""
    for node in module.nodes:
        match node:
            case ast.For(iter=read) | ast.AsyncFor(iter=read) | ast.comprehension(iter=read):
                while isinstance(read, ast.Call) and _name(read) in ITERATED and read.args:
                    read = read.args[0]
                yield _whole(read, {*_KEEP_ALL, "take"})
            case ast.Call(func=ast.Name(id="next") | ast.Attribute(attr="fit"), args=[first, *_]):
                yield first


def _origins(module: Module, read: ast.expr) -> list[Part]:
    """Return the sources of a dataset: in a loop over several, those of the container."""
    bindings = module.bindings_of(read)
    loop = next((it for it in bindings if it.is_each and module.inside(read, it.node)), None)
    inside = [it for it in bindings if loop and module.inside(it.node, loop.node)]
    if loop and loop.value and inside == [loop]:
        keys = (None, *loop.path)
        chosen = module.kind(loop.value, *keys) is Kind.DATASET
        return [Part(read), *module.origins(loop.value, *keys)] if chosen else []
    return module.origins(read) if module.kind(read) is Kind.DATASET else []


def _is_later(module: Module, source: ast.AST, read: ast.expr) -> bool:
    """Return whether a list is made when a dataset of another one of its name has been read."""
    loops = {*module.loops_around(source)} & {*module.loops_around(read)}
    together = module.function_of(source) is module.function_of(read) and not loops
    return together and module.position(source) > module.position(read)


def _whole(node: ast.expr, methods: set[str]) -> ast.expr:
    """Return the dataset that some methods are called of, one after the other."""
    while isinstance(node, ast.Call) and getattr(node.func, "attr", "") in methods:
        node = getattr(node.func, "value", node)
    return node


def _names(module: Module, node: ast.AST) -> list[ast.Name]:
    return [each for each in module.walk(node) if isinstance(each, ast.Name)]


def _name(node: ast.AST) -> str:
    return getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""


def _is_for_devices(
    module: Module, read: ast.expr, sources: list[ast.AST], holders: list[_Holder]
) -> bool:
    """Return whether each dataset is read on a device of its own, or names say that it is."""
    calls = [call for each in holders for call in module.calls_in(each)]
    inside = {*holders, *module.all_called(module.meant(each.func) for each in calls)}
    devices = {it: module.statement_of(it) for it in module.calls_of("tf.device") if it.args}
    around = [it for it, block in devices.items() if block and module.inside(read, block)]
    placed = [it for it in devices if not inside.isdisjoint(module.above(it))]
    for call in (*around, *placed):
        names = _names(module, call.args[0])
        if any(None in part.path for each in names for part in module.origins(each)):
            return True
    loops = (each for each in holders if isinstance(each, _LOOPS))
    chosen = _words(name for each in loops for name in _names(module, each.target))
    counts = [_counted(module, each) for each in sources]
    listed = _words(each for it in counts for each in it) | chosen & _DEVICES
    return not around and bool(listed & _PARTS) and not (listed | chosen) & _TIMES


def _counted(module: Module, source: ast.AST) -> Iterator[ast.AST]:
    """Yield names of a container that holds the dataset, and of the count of its elements."""
    yield from filter(None, [module.function_of(source)])
    match module.statement_of(source):
        case ast.Assign(targets=named):
            yield from named
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=named))):
            yield named
    loop = module.loop_around(source)
    match source:
        case ast.BinOp(right=count):
            yield from module.ingredients(count)
        case ast.ListComp() | ast.DictComp() | ast.GeneratorExp():
            yield from module.ingredients(source.generators[0].iter)
        case ast.Call(args=[keys, _]):
            yield from module.ingredients(keys)
        case ast.Name() | ast.Attribute() | ast.Call() if isinstance(loop, ast.For):
            yield from module.ingredients(loop.iter)


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    names = (last_name(it) or getattr(it, "arg", "") or getattr(it, "name", "") for it in nodes)
    return {each.rstrip("s") for name in names for each in re.findall("[a-z]+", name.lower())}


def _sources(module: Module, parts: list[Part]) -> list[ast.AST]:
    """Return the places that put the same dataset into a container again and again.

    Empty if a device may read from elsewhere as well.
    """
    found: list[ast.AST] = []
    for part in parts:
        node = part.node
        if part.path != (None,) or isinstance(module.parents[node], ast.BinOp):
            continue
        puts = [*module.stored(node)] if isinstance(node, ast.Name | ast.Attribute) else []
        for put in puts:
            loop = module.loop_around(put)
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
        case ast.List(elts=[only]) if isinstance(module.parents[node], ast.AugAssign):
            loop = module.loop_around(node)
            return only if loop and not _depends(module, only, loop) else None
        case ast.List(elts=several) | ast.Tuple(elts=several) | ast.Dict(values=several):
            return several[0] if len(several) > 1 and len({*map(ast.dump, several)}) == 1 else None
        case ast.DictComp(value=value) | ast.ListComp(elt=value) | ast.GeneratorExp(elt=value):
            return value if not _depends(module, value, node) else None
    return next(iter(repeated(node)), None)


def _depends(module: Module, node: ast.expr, loop: ast.AST) -> bool:
    """Return whether a value may differ from round to round of a loop."""
    return any(module.is_bound_in(each, loop) for each in _names(module, node))


def _is_whole(module: Module, node: ast.expr, *, once: bool) -> bool:
    """Return whether it is a dataset, evaluated once for all devices, and no shared iterator."""
    if module.kind(node) is not Kind.DATASET:
        return False
    while isinstance(node, ast.Call) and not once and node.args and _name(node) == "iter":
        node = node.args[0]
    node = _whole(node, _KEEP_ALL)
    if isinstance(node, ast.Name | ast.Attribute):
        return all(_name(part.node) != "iter" for part in module.origins(node))
    return module.called(node) in _ORDERED


def _holders(module: Module, parts: list[Part], sources: set[ast.AST]) -> list[_Holder]:
    """Return the loops that choose one of the datasets, and functions that are given one."""
    found: dict[ast.AST, None] = {}
    for part in parts:
        node = part.node
        froms = module.origins(node) if isinstance(node, ast.expr) else []
        if isinstance(node, ast.arg):
            values = (value for value, _ in module.given(node) if value)
            froms = [it for value in values for it in module.origins(value)]
        if not part.path and node not in sources and any(it.node in sources for it in froms):
            keys = _names(module, node.slice) if isinstance(node, ast.Subscript) else []
            for name in (node, *keys):
                bound = [it.node for it in module.bindings_of(name)]
                around = [it for it in bound if module.inside(name, it)]
                found |= dict.fromkeys(around or bound)
    loops = [it for it in found if isinstance(it, _LOOPS)]
    return [*loops, *(module.function_with(it) for it in found if isinstance(it, ast.arg))]


def _changes_only_place(module: Module, holders: list[_Holder], datasets: set[Node]) -> bool:
    """Return whether only the device, and what is shown, depend on which dataset it is."""
    parameters = (each for each in module.nodes if isinstance(each, ast.arg))
    handed: _Handed = {value: it for it in parameters for value, _ in module.given(it)}
    for each in holders:
        if isinstance(each, _LOOPS):
            changing = {name.id for name in _names(module, each.target)}
        else:
            held = module.children[each.args]
            changing = {it.arg for it in held if isinstance(it, ast.arg)} - {"self"}
        around = module.parents[each] if isinstance(each, ast.comprehension) else each
        for use in _names(module, around):
            changes = isinstance(use.ctx, ast.Load) and use.id in changing
            if changes and not _is_place(module, use, datasets, handed):
                return False
    return bool(holders)


def _is_place(
    module: Module, use: ast.Name, datasets: set[Node], handed: _Handed, depth: int = 0
) -> bool:
    """Return whether a name is used for a device, for what is shown, or for the dataset."""
    around = [use, *module.above(use)]
    shown = any(last_name(getattr(it, "func", None)) in _SHOWS for it in around)
    placed = any(module.called(it) == "tf.device" for it in around)
    if shown or placed or not datasets.isdisjoint(around):
        return True
    bound: ast.AST | None = next((handed[it] for it in around if it in handed), None)
    name = getattr(bound, "arg", "")
    match module.statement_of(use):
        case ast.Assign(targets=[ast.Name(id=plain)], value=value) as statement if not bound:
            calls = any(module.calls_in(value))
            bound, name = (None, "") if calls else (statement, plain)
    uses = (it for it in module.loads[name] if any(e.node is bound for e in module.bindings_of(it)))
    return (
        depth < _DEEPEST
        and bool(name)
        and all(_is_place(module, it, datasets, handed, depth + 1) for it in uses)
    )
