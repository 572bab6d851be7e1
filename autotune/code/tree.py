"""The syntax tree of a module with the way back up, and its nodes by what is asked of them."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
PythonLoop = ast.For | ast.AsyncFor | ast.While
Condition = ast.If | ast.IfExp
Loop = PythonLoop | Comprehension
_SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""Nodes that the parser puts into many places."""
Key = TypeVar("Key")
Value = TypeVar("Value")


class Lists(dict[Key, list[Value]]):
    """Lists by a key; empty where there is none."""

    def __missing__(self, key: Key) -> list[Value]:
        return []


def grouped(pairs: Iterable[tuple[Key | None, Value]]) -> Lists[Key, Value]:
    """Return values by their keys, without those that have none."""
    found = Lists[Key, Value]()
    for key, value in pairs:
        if key is not None:
            found.setdefault(key, []).append(value)
    return found


def reached(starts: Iterable[Key], onward: Callable[[Key], Iterable[Key]]) -> set[Key]:
    """Return some starts, and everything that is reached from them."""
    found = {*starts}
    waiting = [*found]
    while waiting:
        new = {*onward(waiting.pop())} - found
        found |= new
        waiting += new
    return found


class Tree:
    """The nodes of a module, whose syntax tree must not change afterwards."""

    def __init__(self, root: ast.Module) -> None:
        self.root = root
        self.parents: dict[ast.AST, ast.AST] = {}
        self.children: dict[ast.AST, list[ast.AST]] = {}
        waiting: list[ast.AST] = [root]
        for node in waiting:
            inside = [it for it in ast.iter_child_nodes(node) if not isinstance(it, _SHARED)]
            self.children[node] = inside
            self.parents |= dict.fromkeys(inside, node)
            waiting += inside
        self.nodes = [*self.walk(root)]
        self.calls = [each for each in self.nodes if isinstance(each, ast.Call)]
        self.functions = [each for each in self.nodes if isinstance(each, Function)]
        self.withs = [each for each in self.nodes if isinstance(each, ast.With | ast.AsyncWith)]
        names = (each for each in self.nodes if isinstance(each, ast.Name))
        self.loads = grouped((it.id, it) for it in names if isinstance(it.ctx, ast.Load))
        """Where a name is read."""
        members = (each for each in self.nodes if isinstance(each, ast.Attribute))
        self.attributes = grouped((each.attr, each) for each in members)
        """Where something of that name is read from or written to an object."""

    def walk(self, node: ast.AST) -> Iterator[ast.AST]:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(self.children[node]))

    def calls_in(self, node: ast.AST) -> Iterator[ast.Call]:
        return (each for each in self.walk(node) if isinstance(each, ast.Call))

    def asks_for(self, node: ast.AST, names: Collection[str]) -> bool:
        return any(isinstance(it, ast.Attribute) and it.attr in names for it in self.walk(node))

    def names_in(self, node: ast.AST) -> set[str | None]:
        held = [*self.walk(node)]
        named = {each.arg for each in held if isinstance(each, ast.keyword)}
        return named | {each.attr for each in held if isinstance(each, ast.Attribute)}

    def up(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield the nodes that hold this one, from the inside out, each with its part around it."""
        while (parent := self.parents.get(node)) is not None:
            yield parent, node
            node = parent

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that hold this one, from the inside out."""
        return (each for each, _ in self.up(node))

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        return node is outer or any(each is outer for each in self.above(node))

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        return next((each for each in self.above(node) if isinstance(each, ast.stmt)), None)

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the innermost function whose body holds the node; None for the module itself."""
        around = (it for it, part in self.up(node) if isinstance(it, Function) and holds(it, part))
        return next(around, None)

    def class_of_method(self, function: Function | None) -> ast.ClassDef | None:
        owner = self.parents.get(function) if function else None
        return owner if isinstance(owner, ast.ClassDef) else None

    def loops_around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the loops of the same function that run the node again and again, inmost first."""
        for each, part in self.up(node):
            if isinstance(each, Function | ast.ClassDef):
                return
            if isinstance(each, Loop) and holds(each, part):
                yield each

    def loop_around(self, node: ast.AST) -> ast.AST | None:
        return next(self.loops_around(node), None)

    def conditions(self, node: ast.AST) -> Iterator[tuple[Condition, bool]]:
        """Yield the conditions around a node in its function, inmost first, and which must hold."""
        for each, part in self.up(node):
            if isinstance(each, Function):
                return
            if isinstance(each, Condition) and part is not each.test:
                yield each, part is each.body or (isinstance(each, ast.If) and part in each.body)

    def agree(self, one: ast.AST, other: ast.AST) -> bool:
        """Return whether no condition excludes one of two nodes where the other one runs."""
        second = dict(self.conditions(other))
        return all(second.get(each, holds) is holds for each, holds in self.conditions(one))


def holds(node: Function | ast.ClassDef | Loop | Comprehension, part: ast.AST) -> bool:
    """Return whether a part of a function, class or loop belongs to its body."""
    if isinstance(node, Comprehension):
        return not isinstance(part, ast.comprehension)
    body = node.body if isinstance(node.body, list) else [node.body]
    return part in body or (isinstance(node, ast.While) and part is node.test)
