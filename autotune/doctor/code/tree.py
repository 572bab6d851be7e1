"""The syntax tree of a module with the way back up, and its nodes by what is asked of them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Loop = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp
_SHARED = {"ctx", "op", "ops"}
LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp)


class Tree:
    """The nodes of a module.

    Args:
        root: The module; not to be changed afterwards.
    """

    def __init__(self, root: ast.Module) -> None:
        self.root = root
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.calls: list[ast.Call] = []
        self.functions: list[Function] = []
        self.withs: list[ast.With | ast.AsyncWith] = []
        self.loads: dict[str, list[ast.Name]] = defaultdict(list)
        """Where a name is read."""
        self.attributes: dict[str, list[ast.Attribute]] = defaultdict(list)
        """Where something of that name is read from or written to an object."""
        self._parents: dict[ast.AST, ast.AST] = {}
        self._children: dict[ast.AST, list[ast.AST]] = {}
        self._note_all()

    def children(self, node: ast.AST) -> list[ast.AST]:
        """Return the nodes that a node holds."""
        return self._children[node]

    def walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield a node and all that it holds, in the order of the text."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(self._children[node]))

    def calls_in(self, node: ast.AST) -> Iterator[ast.Call]:
        """Yield the calls that a node holds."""
        return (each for each in self.walk(node) if isinstance(each, ast.Call))

    def asks_for(self, node: ast.AST, names: Collection[str]) -> bool:
        """Return whether a node holds an attribute of one of the names."""
        return any(
            isinstance(each, ast.Attribute) and each.attr in names for each in self.walk(node)
        )

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node that holds this one."""
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that hold this one, from the inside out."""
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def function_of(self, node: ast.AST) -> Function | None:
        """Return the innermost function whose body holds the node; None for the module itself."""
        below = node
        for each in self.above(node):
            if isinstance(each, FUNCTIONS) and _runs_inside(each, below):
                return each
            below = each
        return None

    def loops_around(self, node: ast.AST) -> Iterator[Loop]:
        """Yield the loops of the same function that run the node again and again, inmost first."""
        below = node
        for each in self.above(node):
            if isinstance(each, (*FUNCTIONS, ast.ClassDef)):
                return
            if isinstance(each, LOOPS) and _repeats(each, below):
                yield each
            below = each

    def inside(self, node: ast.AST, outer: ast.AST) -> bool:
        """Return whether a node is, or is held by, another."""
        return node is outer or any(each is outer for each in self.above(node))

    def _note_all(self) -> None:
        """Go through the module in the order of its text."""
        waiting: list[ast.AST] = [self.root]
        while waiting:
            node = waiting.pop()
            self._note(node)
            children = _children(node)
            self._children[node] = children
            for child in children:
                self._parents[child] = node
            waiting.extend(reversed(children))

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Name(ctx=ast.Load()):
                self.loads[node.id].append(node)
            case ast.Attribute():
                self.attributes[node.attr].append(node)
            case ast.Call():
                self.calls.append(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self.functions.append(node)
            case ast.With() | ast.AsyncWith():
                self.withs.append(node)
            case ast.Import() | ast.ImportFrom():
                self.imports.append(node)


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes that a node holds, without operators and contexts, which are shared."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = None if name in _SHARED else getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found.extend(each for each in value if isinstance(each, ast.AST))
    return found


def _runs_inside(function: Function, child: ast.AST) -> bool:
    """Return whether a child of a function belongs to its body, not to its signature."""
    return child is function.body if isinstance(function, ast.Lambda) else child in function.body


def _repeats(loop: Loop, child: ast.AST) -> bool:
    """Return whether a child of a loop runs once for each round."""
    if isinstance(loop, ast.For | ast.AsyncFor):
        return child in loop.body
    if isinstance(loop, ast.While):
        return child is loop.test or child in loop.body
    return not isinstance(child, ast.comprehension)
