"""Devices that each get the whole dataset, from a list that was meant to hold parts of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.flow import Part, repeated
from autotune.doctor.code.kinds import ITERATED
from autotune.doctor.code.tree import COMPREHENSIONS, FUNCTIONS
from autotune.doctor.report import Severity
from autotune.doctor.rule import Hit, Rule

_KEEP_ALL = {"prefetch", "cache", "repeat", "with_options", "batch", "map"}
"""Methods after which a dataset has the same examples in the same order."""
_ORDERED = {f"tf.data.Dataset.{name}" for name in ("range", "from_tensor_slices", "from_tensors")}
"""What makes the same dataset again each time."""
_CONTAINERS = (ast.BinOp, ast.List, ast.Tuple, ast.Dict, *COMPREHENSIONS)
_HOLDERS = (*FUNCTIONS, ast.For, ast.AsyncFor)
_SHOWS = {"print", "str", "format"}


def _check(module: Module) -> Iterator[Hit]:
    seen: set[ast.AST] = set()
    for block in module.tree.withs:
        placed = [
            item.context_expr.args[0]
            for item in block.items
            if isinstance(item.context_expr, ast.Call)
            and module.dotted(item.context_expr.func) == "tf.device"
            and item.context_expr.args
        ]
        if placed and _varies(module, placed[0]):
            for read in {*_iterated(module, block)}:
                parts = module.flow.origins(read)
                sources = _sources(module, parts)
                if sources and _only_place(module, placed[0], {part.node for part in parts}):
                    yield from ((each, _SENTENCE) for each in sources if each not in seen)
                    seen.update(sources)


_SENTENCE = "Each device gets the whole dataset: this holds the same one for all of them."


def _varies(module: Module, placed: ast.expr) -> bool:
    """Return whether a device is one after the other of several."""
    return any(
        None in part.path
        for each in module.tree.walk(placed)
        if isinstance(each, ast.Name)
        for part in module.flow.origins(each)
    )


def _iterated(module: Module, block: ast.With | ast.AsyncWith) -> Iterator[ast.expr]:
    """Yield what a block reads the elements of."""
    for node in module.tree.walk(block):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            read = node.iter
            while isinstance(read, ast.Call) and _name(read) in ITERATED and read.args:
                read = read.args[0]
            yield read
        elif isinstance(node, ast.Call) and _name(node) == "next" and node.args:
            yield node.args[0]


def _name(call: ast.Call) -> str:
    return getattr(call.func, "id", "")


def _sources(module: Module, parts: list[Part]) -> list[ast.expr]:
    """Return where the same dataset is put into a container again and again.

    Empty if what a device reads may come from elsewhere as well.
    """
    found: list[ast.expr] = []
    for part in parts:
        node = part.node
        if part.path != (None,) or isinstance(module.tree.parent(node), ast.BinOp):
            continue
        puts = [*module.flow.stored(node)] if isinstance(node, ast.Name | ast.Attribute) else []
        if not all(_is_put_again(module, each) for each in puts):
            return []
        found += puts
        if isinstance(node, _CONTAINERS) or repeated(node) or module.flow.is_end(part):
            element = _element(module, node)
            once = not isinstance(node, COMPREHENSIONS)
            iterated = _iterators_of(module, node)
            if iterated is not None:
                found += _sources(module, module.flow.origins(iterated))
            elif element is not None and _is_whole(module, element, once=once):
                found.append(node)
            elif not _is_empty(node):
                return []
    return found


def _iterators_of(module: Module, node: ast.expr) -> ast.expr | None:
    """Return what a comprehension makes an iterator of each element of, as the name of that."""
    match node:
        case ast.ListComp(elt=ast.Call(func=ast.Name(id="iter"), args=[ast.Name() as each])):
            return each if _depends(module, each, node) else None
    return None


def _element(module: Module, node: ast.expr) -> ast.expr | None:
    """Return what a container holds several times, the same for each."""
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
    return any(
        module.tree.inside(bound.node, loop)
        for each in module.tree.walk(node)
        if isinstance(each, ast.Name)
        for bound in module.scopes.bindings(each.id, each)
    )


def _is_put_again(module: Module, value: ast.expr) -> bool:
    """Return whether a loop puts the same dataset into a container in each round."""
    loop = next(module.tree.loops_around(value), None)
    whole = _is_whole(module, value, once=False)
    return loop is not None and whole and not _depends(module, value, loop)


def _is_whole(module: Module, node: ast.expr, *, once: bool) -> bool:
    """Return whether it is a dataset, and no iterator that takes turns.

    Args:
        module: Holds the node.
        node: Is put into a container.
        once: Whether it is evaluated once for all devices.
    """
    if module.kind(node) is not Kind.DATASET:
        return False
    while isinstance(node, ast.Call) and not once and node.args and _name(node) == "iter":
        node = node.args[0]
    while isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _KEEP_ALL:
        node = getattr(node.func, "value", node)
    made = [part.node for part in module.flow.origins(node)]
    turns = any(isinstance(each, ast.Call) and _name(each) == "iter" for each in made)
    named = isinstance(node, ast.Name | ast.Attribute) and not turns
    return named or (isinstance(node, ast.Call) and module.dotted(node.func) in _ORDERED)


def _is_empty(node: ast.expr) -> bool:
    held = (getattr(node, name, ()) for name in ("elts", "keys", "args", "generators"))
    return isinstance(node, ast.List | ast.Dict | ast.Call) and not any(held)


def _only_place(module: Module, placed: ast.expr, parts: set[ast.expr]) -> bool:
    """Return whether what changes from device to device is only the device and its dataset."""
    names = (each for each in module.tree.walk(placed) if isinstance(each, ast.Name))
    for each in (bound for name in names for bound in module.scopes.bindings(name.id, name)):
        holders = (each.node, *module.tree.above(each.node))
        holder = next((it for it in holders if isinstance(it, _HOLDERS)), None)
        if holder is None or not module.tree.inside(placed, holder):
            continue
        changing = _bound_by(module, holder)
        for use in module.tree.walk(holder):
            if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and use.id in changing:
                above = {use, *module.tree.above(use)}
                shown = any(isinstance(it, ast.Call) and _name(it) in _SHOWS for it in above)
                if not (above & parts or placed in above or shown):
                    return False
    return True


def _bound_by(module: Module, holder: ast.AST) -> set[str]:
    """Return the names that a loop or a function binds in each round."""
    if isinstance(holder, FUNCTIONS):
        signature = holder.args
        given = (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
        return {each.arg for each in given} - {"self"}
    target = getattr(holder, "target", None)
    names = module.tree.walk(target) if target is not None else ()
    return {each.id for each in names if isinstance(each, ast.Name)}


_BAD = """
import tensorflow as tf

dataset = tf.data.Dataset.from_tensor_slices(images).batch(64)
devices = ["/gpu:0", "/gpu:1"]
parts = [dataset] * len(devices)  # <- here

for device, part in zip(devices, parts):
    with tf.device(device):
        for batch in part:
            train_step(batch)
"""

_GOOD = _BAD.replace(
    "[dataset] * len(devices)  # <- here",
    "[dataset.shard(len(devices), number) for number in range(len(devices))]",
)

RULE = Rule(
    name="same-dataset-on-devices",
    title="same dataset on every device",
    severity=Severity.ERROR,
    why=(
        "A list that names one dataset several times holds no parts of it. Each device goes "
        "through all examples: n times the work of one device, for the same updates n times."
    ),
    instead=(
        "Give each device dataset.shard(n, i), or let a tf.distribute strategy split every batch "
        "and add up the gradients."
    ),
    words=(("device(",), ("dataset",), ("for ",)),
    check=_check,
    bad=(_BAD,),
    good=(_GOOD,),
)
