"""What names stand for, written in one way however they were imported, and the module's classes."""

from __future__ import annotations

import ast
import re

from autotune.doctor.code.scopes import Binding, How, Scopes
from autotune.doctor.code.tree import FUNCTIONS, Tree

_TENSORFLOW = re.compile(r"^tensorflow(\.compat\.v2)?(?=\.|$)")
_KERAS = re.compile(r"^tf\.keras(?=\.|$)|^tf(?=\.(?:optimizers|metrics|losses)\.[A-Z])")
_DEEPEST = 12
"""Names that stand for names are followed so far; longer chains are made to be odd."""


class Names:
    """The dotted names of a module's expressions.

    TensorFlow is `tf`, Keras is `keras`, however it was imported: `keras` and `tf.keras` alike.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._known: dict[ast.expr, str] = {}
        self._bound: dict[int, str] = {}

    def dotted(self, node: ast.expr) -> str:
        """Return what an expression stands for, such as `tf.distribute.MirroredStrategy`.

        Empty where that is not certain, and for what the module defines by itself.
        """
        if node not in self._known:
            self._known[node] = self._follow(node, 0)
        return self._known[node]

    def _follow(self, node: ast.expr, depth: int) -> str:
        if depth > _DEEPEST:
            return ""
        if isinstance(node, ast.Attribute):
            owner = self._follow(node.value, depth + 1)
            return same(f"{owner}.{node.attr}") if owner else ""
        if not isinstance(node, ast.Name):
            return ""
        bindings = self._scopes.bindings(node.id, node)
        key = id(bindings)
        if bindings and key not in self._bound:
            self._bound[key] = ""  # A name that stands for itself stands for nothing certain.
            found = {self._of_binding(each, depth) for each in bindings}
            self._bound[key] = found.pop() if len(found) == 1 else ""
        return self._bound.get(key, "")

    def _of_binding(self, binding: Binding, depth: int) -> str:
        if binding.how is How.IMPORT:
            return same(binding.dotted)
        value = binding.plain
        return self._follow(value, depth + 1) if value is not None else ""


def same(dotted: str) -> str:
    """Return the one way to write a name."""
    return _KERAS.sub("keras", _TENSORFLOW.sub("tf", dotted))


Method = ast.FunctionDef | ast.AsyncFunctionDef


class Classes:
    """Follows `self.name` and `thing.name` to what a class of the module defines."""

    def __init__(self, tree: Tree, scopes: Scopes) -> None:
        self._tree = tree
        self._scopes = scopes

    def of(self, node: ast.expr) -> ast.ClassDef | None:
        """Return the class of the module that an expression is, or is an object of."""
        if isinstance(node, ast.Call):
            return self.named(node.func)
        binding = self._scopes.only(node)
        if binding is not None and isinstance(binding.node, ast.ClassDef):
            return binding.node
        if binding is not None and binding.how is How.PARAMETER:
            return self._class_of_self(binding.node)
        value = binding.plain if binding else None
        return self.named(value.func) if isinstance(value, ast.Call) else None

    def method(self, owner: ast.ClassDef, name: str) -> Method | None:
        """Return the method of that name, as far as the class itself defines it."""
        found = [
            each
            for each in owner.body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name
        ]
        return found[-1] if found else None

    def values(self, owner: ast.ClassDef, name: str) -> list[ast.expr | None]:
        """Return what is assigned to a member; None for what cannot be told."""
        found: list[ast.expr | None] = [
            self._assigned(each)
            for each in self._tree.attributes[name]
            if not isinstance(each.ctx, ast.Load) and self.of(each.value) is owner
        ]
        inside = self._scopes.of(owner).names.get(name, [])
        return found + [each.value if not each.path else None for each in inside]

    def named(self, node: ast.expr) -> ast.ClassDef | None:
        """Return the class that a name is that of."""
        binding = self._scopes.only(node)
        return binding.node if binding and isinstance(binding.node, ast.ClassDef) else None

    def _class_of_self(self, parameter: ast.AST) -> ast.ClassDef | None:
        signature = self._tree.parent(parameter)
        function = self._tree.parent(signature) if signature else None
        if not isinstance(signature, ast.arguments) or not isinstance(function, FUNCTIONS):
            return None
        owner = self._tree.parent(function)
        first = (*signature.posonlyargs, *signature.args)[:1]
        static = any(
            isinstance(each, ast.Name) and each.id == "staticmethod"
            for each in getattr(function, "decorator_list", ())
        )
        if isinstance(owner, ast.ClassDef) and parameter in first and not static:
            return owner
        return None

    def _assigned(self, target: ast.Attribute) -> ast.expr | None:
        parent = self._tree.parent(target)
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            return parent.value
        if not isinstance(parent, ast.Tuple):
            return None
        statement = self._tree.parent(parent)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
            return _opposite(target, parent.elts, statement.value.elts)
        return None


def _opposite(target: ast.expr, targets: list[ast.expr], values: list[ast.expr]) -> ast.expr | None:
    """Return the value that is assigned to one of several targets."""
    if len(targets) != len(values) or any(isinstance(e, ast.Starred) for e in targets + values):
        return None
    return values[targets.index(target)]
