"""Which calls of a method stand in the text of a script, and whose they cannot be."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from autotune.code.functions import last_name
from autotune.code.names import Names
from autotune.code.tree import Function, PythonLoop

_SCOPE = Function | ast.ClassDef
_WITHOUT_KERAS = frozenset(
    ("sklearn", "imblearn", "xgboost", "lightgbm", "catboost", "statsmodels", "scipy", "torch")
)
"""Libraries whose own classes compute nothing with Keras."""
_WRAPPERS = ("scikeras", "SKLearn", "KerasClassifier", "KerasRegressor")
"""What makes such a class of a Keras model."""


class MethodCall(NamedTuple):
    line: int
    receiver: ast.expr
    scopes: tuple[ast.AST, ...]
    """The functions and classes that it stands in, the outermost first."""
    again: bool
    """Whether it may come after a line that stands below it: in a function or a loop."""


class ScriptNames(Names):
    """A script whose names are followed to what is called, and to what cannot be Keras's."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self._asked: set[str] = set()
        bound = [each for scope in self.scopes for each in scope.names.values()]
        imported = (binding.dotted for bindings in bound for binding in bindings)
        texts = [*self.loads, *imported]
        self._wrapped = any(wrapper in text for text in texts for wrapper in _WRAPPERS)

    def method_calls(self, methods: Collection[str]) -> list[MethodCall]:
        """Return the calls of methods by their names, in the order of their lines.

        A name that is given to a method, or to a `partial` of one, stands for it.
        """
        aliases = dict(_aliases(self.root, methods))
        received = ((each, _receiver(each.func, methods, aliases)) for each in self.calls)
        found = (self._call(each, receiver) for each, receiver in received if receiver)
        return sorted(found, key=lambda each: each.line)

    def _call(self, call: ast.Call, receiver: ast.expr) -> MethodCall:
        around = [*self.above(call)]
        return MethodCall(
            line=call.func.end_lineno or call.lineno,  # where Python says that the call stands
            receiver=receiver,
            scopes=tuple(each for each in reversed(around) if isinstance(each, _SCOPE)),
            again=any(isinstance(each, PythonLoop | _SCOPE) for each in around),
        )

    def is_other(self, node: ast.expr | None) -> bool:
        """Return whether an object cannot be Keras's, by the text alone."""
        if isinstance(node, ast.Call):
            return self._makes(node.func)
        if isinstance(node, ast.Name):
            if owner := self.class_of(node):
                return self._is_plain(owner)
            values = [each.plain for each in self.bindings_of(node)]
            return self._all(node.id, values, self.is_other)
        if not isinstance(node, ast.Attribute):
            return False
        stored = [it for it in self.attributes[node.attr] if not isinstance(it.ctx, ast.Load)]
        return self._all(f".{node.attr}", list(map(self._assigned, stored)), self.is_other)

    def _makes(self, function: ast.expr) -> bool:
        if top := self.dotted(function).partition(".")[0]:
            of_other = top in _WITHOUT_KERAS and not self._wrapped
            return of_other or top in sys.stdlib_module_names
        owners = [each.node for each in self.bindings_of(function)]
        return self._all(last_name(function), owners, self._is_plain)

    def _is_plain(self, owner: ast.AST) -> bool:
        """Return whether a class is of this text and derives from no class of Keras."""
        bases = owner.bases if isinstance(owner, ast.ClassDef) else [None]
        return all(each and (last_name(each) == "object" or self._makes(each)) for each in bases)

    def _all(self, name: str, found: Sequence[Any], holds: Callable[[Any], bool]) -> bool:
        # Meanwhile nothing is known of it: a value may be made of what it takes the place of.
        if not found or name in self._asked:
            return False
        self._asked.add(name)
        try:
            return all(map(holds, found))
        finally:
            self._asked.remove(name)


def _aliases(tree: ast.Module, methods: Collection[str]) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            meant = value.args[:1] if isinstance(value, ast.Call) else [value]
            for each in meant:
                if isinstance(each, ast.Attribute) and each.attr in methods:
                    yield node.targets[0].id, each.value


def _receiver(
    function: ast.expr, methods: Collection[str], aliases: Mapping[str, ast.expr]
) -> ast.expr | None:
    if isinstance(function, ast.Attribute) and function.attr in methods:
        return function.value
    return aliases.get(function.id) if isinstance(function, ast.Name) else None
