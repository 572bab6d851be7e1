"""Which calls of a method stand in the text of a script, and whose they cannot be."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_WITHOUT_KERAS = frozenset(
    ("sklearn", "imblearn", "xgboost", "lightgbm", "catboost", "statsmodels", "scipy", "torch")
)
"""Libraries whose own classes compute nothing with Keras."""
_WRAPPERS = ("scikeras", "SKLearn", "KerasClassifier", "KerasRegressor")
"""What makes such a class of a Keras model."""

Bound = ast.expr | ast.ClassDef | str | None
"""What a text binds to a name: a value, a class, the module of an import; None for all else."""


class MethodCall(NamedTuple):
    line: int
    receiver: ast.expr
    scopes: tuple[ast.AST, ...]
    """The functions and classes that it stands in, the outermost first."""
    again: bool
    """Whether it may come after a line that stands below it: in a function or a loop."""


def method_calls(tree: ast.Module, methods: Collection[str]) -> list[MethodCall]:
    """Return the calls of methods by their names, in the order of their lines.

    A name that is given to a method, or to a `partial` of one, stands for it.
    """
    aliases = dict(_aliases(tree, methods))
    return sorted(_found(tree, methods, aliases, (), again=False), key=lambda each: each.line)


def _aliases(tree: ast.Module, methods: Collection[str]) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            meant = value.args[:1] if isinstance(value, ast.Call) else [value]
            for each in meant:
                if isinstance(each, ast.Attribute) and each.attr in methods:
                    yield node.targets[0].id, each.value


def _found(
    node: ast.AST,
    methods: Collection[str],
    aliases: dict[str, ast.expr],
    scopes: tuple[ast.AST, ...],
    *,
    again: bool,
) -> Iterator[MethodCall]:
    if isinstance(node, ast.Call):
        receiver = _receiver(node.func, methods, aliases)
        if receiver is not None:
            line = node.func.end_lineno or node.lineno  # where Python says that the call stands
            yield MethodCall(line, receiver, scopes, again)
    inside = (*scopes, node) if isinstance(node, SCOPES) else scopes
    later = again or isinstance(node, (*_LOOPS, *SCOPES))
    for child in ast.iter_child_nodes(node):
        yield from _found(child, methods, aliases, inside, again=later)


def _receiver(
    function: ast.expr, methods: Collection[str], aliases: dict[str, ast.expr]
) -> ast.expr | None:
    if isinstance(function, ast.Attribute) and function.attr in methods:
        return function.value
    return aliases.get(function.id) if isinstance(function, ast.Name) else None


def class_of_self(name: str, scopes: tuple[ast.AST, ...]) -> ast.ClassDef | None:
    """Return the class whose instance a name is in a method: that of the first parameter."""
    if len(scopes) < 2 or not isinstance(scopes[-1], _FUNCTIONS):
        return None
    first, owner = scopes[-1].args.args[:1], scopes[-2]
    is_self = bool(first) and first[0].arg == name
    return owner if is_self and isinstance(owner, ast.ClassDef) else None


class Others:
    """Tells by the text alone which objects cannot be Keras's."""

    def __init__(self, tree: ast.Module) -> None:
        self._bound: dict[str, list[Bound]] = {}
        for name, value in _bindings(tree):
            self._bound.setdefault(name, []).append(value)
        names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        imported = [value for several in self._bound.values() for value in several]
        texts = [*names, *(each for each in imported if isinstance(each, str))]
        self._wrapped = any(wrapper in text for text in texts for wrapper in _WRAPPERS)

    def has_receiver(self, call: MethodCall) -> bool:
        if isinstance(call.receiver, ast.Name):
            owner = class_of_self(call.receiver.id, call.scopes)
            if owner is not None:
                return self._is_class(owner)
        return self._has(call.receiver)

    def _has(self, node: Bound) -> bool:
        if isinstance(node, ast.Call):
            return self._makes(node.func)
        if isinstance(node, ast.Name):
            return self._all(node.id, self._has)
        return isinstance(node, ast.Attribute) and self._all(f".{node.attr}", self._has)

    def _makes(self, function: ast.expr) -> bool:
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and self._all(root.id, self._is_class)

    def _is_class(self, found: Bound) -> bool:
        if isinstance(found, ast.ClassDef):
            return all(self._is_base(each) for each in found.bases)
        return isinstance(found, str) and self._is_library(found)

    def _is_base(self, base: ast.expr) -> bool:
        return (isinstance(base, ast.Name) and base.id == "object") or self._makes(base)

    def _is_library(self, module: str) -> bool:
        top = module.partition(".")[0]
        return top in sys.stdlib_module_names or (top in _WITHOUT_KERAS and not self._wrapped)

    def _all(self, name: str, holds: Callable[[Any], bool]) -> bool:
        # Meanwhile nothing is known of it: a value may be made of what it takes the place of.
        found = self._bound.pop(name, [])
        try:
            return bool(found) and all(map(holds, found))
        finally:
            if found:
                self._bound[name] = found


def _bindings(tree: ast.Module) -> Iterator[tuple[str, Bound]]:
    assigned: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            plain = [each for each in node.targets if isinstance(each, ast.Name | ast.Attribute)]
            assigned |= {id(each) for each in plain}
            yield from ((_key(each), node.value) for each in plain)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif id(node) not in assigned:  # Its assignment comes first.
            yield from _defined(node)


def _defined(node: ast.AST) -> Iterator[tuple[str, Bound]]:
    match node:
        case ast.ClassDef(name=name):
            yield name, node
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
            yield name, None
        case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
            yield _key(node), None


def _key(target: ast.Name | ast.Attribute) -> str:
    return target.id if isinstance(target, ast.Name) else f".{target.attr}"


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Bound]]:
    for each in node.names:
        module = each.name if isinstance(node, ast.Import) else node.module
        local = isinstance(node, ast.ImportFrom) and node.level
        name = each.asname or each.name
        yield name.partition(".")[0], None if local else f"{module}.{name}"
