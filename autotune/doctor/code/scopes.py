"""Which names a module binds, where, and to what."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from autotune.doctor.code.tree import COMPREHENSIONS, FUNCTIONS, Tree

_BINDING = (
    *(ast.stmt, ast.NamedExpr, ast.comprehension, ast.withitem, ast.ExceptHandler, ast.pattern),
)
"""What may bind names."""


class How(Enum):
    """How a name comes to stand for something."""

    IMPORT = auto()
    VALUE = auto()
    """By assignment."""
    EACH = auto()
    """One after the other, in a loop."""
    ENTERED = auto()
    """By `with ... as`."""
    PARAMETER = auto()
    FUNCTION = auto()
    CLASS = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, kw_only=True, eq=False)
class Binding:
    """One place where a name is bound."""

    how: How
    node: ast.AST
    """The statement, function, class or parameter."""
    value: ast.expr | None = None
    """What is assigned, looped over, or entered."""
    path: tuple[int, ...] = ()
    """Which part of it, where it is taken apart."""
    dotted: str = ""
    """What is imported."""

    @property
    def plain(self) -> ast.expr | None:
        """What is assigned, as a whole."""
        return self.value if self.how is How.VALUE and not self.path else None


@dataclass(eq=False)
class Scope:
    """The names of a module, a class, a function or a comprehension."""

    node: ast.AST
    outer: Scope | None
    names: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    """The scopes of names that are declared global or nonlocal."""

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding, to whom it belongs."""
        owner = self.elsewhere.get(name, self)
        owner.names.setdefault(name, []).append(binding)


class Scopes:
    """All scopes of a module."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.root = Scope(tree.root, None)
        self._scopes: dict[ast.AST, Scope] = {tree.root: self.root}
        self._at: dict[ast.AST, Scope] = {}
        self._fill()

    def bindings(self, name: str, at: ast.AST) -> list[Binding]:
        """Return all that a name, read at a node, may stand for."""
        scope: Scope | None = self.scope_at(at)
        innermost = True
        while scope is not None:
            visible = innermost or not isinstance(scope.node, ast.ClassDef)
            if visible and name in scope.names:
                return scope.names[name]
            if name in scope.elsewhere:
                return scope.elsewhere[name].names.get(name, [])
            innermost = innermost and isinstance(scope.node, COMPREHENSIONS)
            scope = scope.outer
        return []

    def only(self, node: ast.AST) -> Binding | None:
        """Return the one binding of a name; None for another node, or where there are several."""
        bindings = self.bindings(node.id, node) if isinstance(node, ast.Name) else []
        return bindings[0] if len(bindings) == 1 else None

    def value(self, node: ast.AST) -> ast.expr | None:
        """Return what is assigned to a name, where that is certain."""
        binding = self.only(node)
        return binding.plain if binding else None

    def scope_at(self, node: ast.AST) -> Scope:
        """Return the scope in which a node is evaluated."""
        return self._at.get(node, self.root)

    def all(self) -> Iterable[Scope]:
        """Return every scope."""
        return self._scopes.values()

    def of(self, node: ast.AST) -> Scope:
        """Return the scope of a function, a class or the module."""
        return self._scopes[node]

    def _fill(self) -> None:
        """Go through the module in the order of its text."""
        waiting: list[tuple[ast.AST, Scope]] = [(self.root.node, self.root)]
        while waiting:
            node, scope = waiting.pop()
            self._at[node] = scope
            self._bind(node, scope)
            inner = self._inner(node, scope)
            children = reversed(self._tree.children(node))
            if inner is scope:
                waiting.extend((child, scope) for child in children)
            else:
                waiting.extend(
                    (each, inner if _belongs(node, each) else scope) for each in children
                )

    def _inner(self, node: ast.AST, scope: Scope) -> Scope:
        """Return the scope for the children of a node, which is a new one for some."""
        if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)):
            return scope
        inner = Scope(node, scope)
        self._scopes[node] = inner
        if isinstance(node, FUNCTIONS):
            for parameter in _parameters(node.args):
                inner.bind(parameter.arg, Binding(how=How.PARAMETER, node=parameter))
        return inner

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if not isinstance(node, _BINDING):
            return
        for name, binding in _bindings(node):
            if isinstance(node, ast.NamedExpr):
                _outside_comprehensions(scope).bind(name, binding)
            else:
                scope.bind(name, binding)
        if isinstance(node, ast.Global):
            scope.elsewhere.update(dict.fromkeys(node.names, self.root))
        elif isinstance(node, ast.Nonlocal):
            scope.elsewhere.update({name: _owner(scope.outer, name) for name in node.names})


def _belongs(holder: ast.AST, child: ast.AST) -> bool:
    """Return whether a child of a scope's node is evaluated in that scope."""
    if isinstance(holder, ast.Lambda):
        return child is holder.body
    if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in holder.body
    return True


def _owner(scope: Scope | None, name: str) -> Scope:
    """Return the scope that a nonlocal name belongs to; a new one where there is none."""
    while scope is not None:
        if name in scope.names and not isinstance(scope.node, ast.ClassDef):
            return scope
        scope = scope.outer
    return Scope(ast.Pass(), None)


def _outside_comprehensions(scope: Scope) -> Scope:
    while isinstance(scope.node, COMPREHENSIONS) and scope.outer is not None:
        scope = scope.outer
    return scope


def _parameters(given: ast.arguments) -> Iterator[ast.arg]:
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    if given.vararg:
        yield given.vararg
    if given.kwarg:
        yield given.kwarg


def _bindings(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a node itself binds."""
    match node:
        case ast.Import() | ast.ImportFrom():
            yield from _imports(node)
        case ast.Assign():
            for target in node.targets:
                yield from _targets(target, node, How.VALUE, node.value)
        case ast.AnnAssign(value=ast.expr() as value) | ast.NamedExpr(value=value):
            yield from _targets(node.target, node, How.VALUE, value)
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield from _targets(node.target, node, How.EACH, node.iter)
        case ast.withitem(optional_vars=ast.expr() as target):
            yield from _targets(target, node, How.ENTERED, node.context_expr)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name, Binding(how=How.FUNCTION, node=node)
        case ast.ClassDef():
            yield node.name, Binding(how=How.CLASS, node=node)
        case _:
            yield from _unclear(node)


def _unclear(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a node binds to something that is not followed."""
    name: str | None = None
    if isinstance(node, ast.AugAssign):
        name = node.target.id if isinstance(node.target, ast.Name) else None
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        name = node.name
    elif isinstance(node, ast.MatchMapping):
        name = node.rest
    if name:
        yield name, Binding(how=How.UNKNOWN, node=node)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.Import):
        for each in node.names:
            dotted = each.name if each.asname else each.name.partition(".")[0]
            name = each.asname or dotted
            yield name, Binding(how=How.IMPORT, node=node, dotted=dotted)
        return
    base = "." * node.level + (node.module or "")
    for each in node.names:
        dotted = f"{base}.{each.name}"
        yield each.asname or each.name, Binding(how=How.IMPORT, node=node, dotted=dotted)


def _targets(
    target: ast.expr, node: ast.AST, how: How, value: ast.expr, path: tuple[int, ...] = ()
) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, Binding(how=how, node=node, value=value, path=path)
    elif isinstance(target, ast.Starred):
        for name, _ in _targets(target.value, node, how, value, path):
            yield name, Binding(how=How.UNKNOWN, node=node)
    elif isinstance(target, ast.Tuple | ast.List):
        for index, part in enumerate(target.elts):
            yield from _targets(part, node, how, value, (*path, index))
