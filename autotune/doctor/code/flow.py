"""Follows values back to the expressions that they come from, through any number of names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from autotune.doctor.code.arguments import Arguments
from autotune.doctor.code.functions import Functions
from autotune.doctor.code.kinds import ITERATED
from autotune.doctor.code.names import Classes, Names
from autotune.doctor.code.scopes import How, Scopes
from autotune.doctor.code.tree import COMPREHENSIONS, Tree

Key = int | str | None
"""Which element of a container; None where it may be any of them."""
_MOST = 400
"""Parts after which a value is followed no further."""
_DEEPEST = 5
_SAME_ELEMENTS = {*ITERATED, "list", "tuple", "reversed", "sorted", "itertools.cycle"}
_REPEATED = {"itertools.repeat": 0, "repeat": 0, "dict.fromkeys": 1}
"""Which argument they take for all elements."""


@dataclass(frozen=True)
class Part:
    """A value that is an element of an element ... of what an expression gives."""

    node: ast.expr
    path: tuple[Key, ...] = ()

    def at(self, node: ast.expr | None) -> Iterator[Part]:
        """Yield the same part of another expression."""
        if node is not None:
            yield Part(node, self.path)

    def inside(self, node: ast.expr | None, *keys: Key) -> Iterator[Part]:
        """Yield the same part of an element of another expression."""
        if node is not None:
            yield Part(node, (*keys, *self.path))

    def element(self, node: ast.expr) -> Part:
        """Return the same part of an expression that is an element of this one."""
        return Part(node, self.path[1:])


class Flow:
    """Answers where values come from; more than one answer means that it depends."""

    def __init__(
        self,
        tree: Tree,
        scopes: Scopes,
        names: Names,
        classes: Classes,
        functions: Functions,
        arguments: Arguments,
    ) -> None:
        self._tree = tree
        self._scopes = scopes
        self._names = names
        self._classes = classes
        self._functions = functions
        self._arguments = arguments

    def origins(self, node: ast.expr) -> list[Part]:
        """Return all that an expression may stand for, itself first."""
        return _reached(Part(node), self._back)

    def is_end(self, part: Part) -> bool:
        """Return whether it cannot be told what a part comes from."""
        return next(self._back(part), None) is None

    def ingredients(self, node: ast.expr, without: Collection[str] = ()) -> set[ast.expr]:
        """Return all that a value may be computed from, but for members of some names."""

        def back(part: Part) -> Iterator[Part]:
            if not isinstance(part.node, ast.Attribute) or part.node.attr not in without:
                found = [*self._back(part)]
                yield from found
                yield from [] if part.path and found else map(Part, self._held(part.node))

        return {part.node for part in _reached(Part(node), back)}

    def _held(self, node: ast.AST) -> Iterator[ast.expr]:
        """Yield the expressions that a node holds, without those inside of them."""
        for each in self._tree.children(node):
            if isinstance(each, ast.expr):
                yield each
            else:
                yield from self._held(each)

    def _back(self, part: Part) -> Iterator[Part]:
        match part.node:
            case ast.Name() | ast.Attribute():
                yield from self._bound(part, part.node)
                if part.path:
                    yield from map(part.element, self.stored(part.node))
            case ast.IfExp(body=first, orelse=second):
                yield from (*part.at(first), *part.at(second))
            case ast.BoolOp(values=values):
                yield from chain.from_iterable(map(part.at, values))
            case ast.Subscript(value=value, slice=key) if not isinstance(key, ast.Slice):
                yield from part.inside(value, _constant(key))
            case ast.NamedExpr() | ast.Await() | ast.Starred() | ast.Subscript():
                yield from part.at(part.node.value)
            case ast.Call():
                yield from self._called(part, part.node)
            case ast.BinOp(left=first, op=ast.Add(), right=second) if part.path:
                yield from (*part.at(first), *part.at(second))
            case _ if part.path:
                yield from map(part.element, _elements(part.node, part.path[0]))

    def _bound(self, part: Part, node: ast.Name | ast.Attribute) -> Iterator[Part]:
        """Yield what is assigned to a name or a member."""
        if isinstance(node, ast.Attribute):
            owner = self._classes.of(node.value)
            for value in self._classes.values(owner, node.attr) if owner else ():
                yield from part.at(value)
            return
        for each in self._scopes.bindings(node.id, node):
            if each.how is How.EACH:
                yield from part.inside(each.value, None, *each.path)
            elif each.how is How.PARAMETER and isinstance(each.node, ast.arg):
                for given in self._arguments.of(each.node):
                    yield from part.inside(given.value, *([None] if given.is_each else []))
            elif isinstance(each.node, ast.AugAssign):
                yield from part.at(each.node.value)
            else:
                yield from part.inside(each.value, *each.path)

    def stored(self, node: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
        """Yield what is put into a container of a name: appended, or by a key."""
        for each in self._same(node):
            parent = self._tree.parent(each)
            above = self._tree.parent(parent) if parent else None
            if isinstance(parent, ast.Attribute) and parent.attr == "append":
                yield from above.args if isinstance(above, ast.Call) else ()
            elif isinstance(parent, ast.Subscript) and isinstance(above, ast.Assign):
                yield from [above.value] if parent in above.targets else []

    def _same(self, node: ast.Name | ast.Attribute) -> Iterable[ast.expr]:
        """Return the places where the same name or member is read."""
        if isinstance(node, ast.Name):
            bindings, here = self._scopes.bindings(node.id, node), self._tree.loads[node.id]
            return (each for each in here if self._scopes.bindings(node.id, each) is bindings)
        owner, members = self._classes.of(node.value), self._tree.attributes[node.attr]
        return (each for each in members if owner and self._classes.of(each.value) is owner)

    def _called(self, part: Part, call: ast.Call) -> Iterator[Part]:
        name = self._names.dotted(call.func) or getattr(call.func, "id", "")
        first = call.args[0] if call.args else None
        if found := self._functions.meant(call.func):
            for result in self._functions.returned(found.function):
                yield from part.at(result)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in {"items", "values"}:
            yield from _of_dictionary(part, call.func)
        elif name == "next":
            yield from part.inside(first, None)
        elif name == "zip" and len(part.path) > 1:
            key = part.path[1]
            chosen = call.args[key : key + 1] if isinstance(key, int) else call.args
            yield from (Part(each, (part.path[0], *part.path[2:])) for each in chosen)
        elif name == "enumerate" and first and part.path[1:2] == (1,):
            yield Part(first, (part.path[0], *part.path[2:]))
        elif name in _SAME_ELEMENTS - {"enumerate"} and part.path:
            yield from part.at(first)
        elif name == "dict" and first and part.path:
            yield Part(first, (None, 1, *part.path[1:]))
        elif part.path:
            yield from map(part.element, repeated(call))


def repeated(node: ast.expr) -> list[ast.expr]:
    """Return what `itertools.repeat` and `dict.fromkeys` put into every element."""
    if not isinstance(node, ast.Call):
        return []
    index = _REPEATED.get(ast.unparse(node.func))
    return [] if index is None else node.args[index : index + 1]


def _of_dictionary(part: Part, func: ast.Attribute) -> Iterator[Part]:
    if func.attr == "values":
        yield from part.at(func.value)
    elif part.path[1:2] == (1,):
        yield Part(func.value, (part.path[0], *part.path[2:]))


def _elements(node: ast.expr, key: Key) -> list[ast.expr]:
    """Return what may stand at a key of a container that is written out."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        found = node.elts[key : key + 1] if isinstance(key, int) and key >= 0 else node.elts
        return node.elts if any(isinstance(each, ast.Starred) for each in node.elts) else found
    if isinstance(node, ast.Dict):
        keys = [getattr(each, "value", None) for each in node.keys]
        return [node.values[keys.index(key)]] if key is not None and key in keys else node.values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _elements(node.left, None)
    if isinstance(node, COMPREHENSIONS):
        return [node.value if isinstance(node, ast.DictComp) else node.elt]
    return []


def _constant(key: ast.expr) -> Key:
    value = key.value if isinstance(key, ast.Constant) else None
    return value if isinstance(value, int | str) else None


def _reached(start: Part, back: Callable[[Part], Iterator[Part]]) -> list[Part]:
    found = {start: None}
    waiting = [start]
    while waiting and len(found) < _MOST:
        for each in back(waiting.pop()):
            if each not in found and len(each.path) <= _DEEPEST:
                found[each] = None
                waiting.append(each)
    return list(found)
