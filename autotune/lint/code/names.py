"""What names stand for, written in one way however they were imported."""

from __future__ import annotations

import ast
import re

from autotune.lint.code.scopes import Binding, How, Scopes

_TENSORFLOW = re.compile(r"^tensorflow(\.compat\.v2)?(?=\.|$)")
_KERAS = re.compile(r"^tf\.keras(?=\.|$)")
_DEEPEST = 12
"""Names that stand for names are followed so far; longer chains are made to be odd."""


class Names:
    """The dotted names of a module's expressions.

    TensorFlow is `tf`, Keras is `keras`, however it was imported: `keras` and `tf.keras` alike.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._known: dict[ast.expr, str] = {}

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
        found = {self._of_binding(each, depth) for each in bindings}
        return found.pop() if len(found) == 1 else ""

    def _of_binding(self, binding: Binding, depth: int) -> str:
        if binding.how is How.IMPORT:
            return same(binding.dotted)
        value = binding.value
        followed = binding.how is How.VALUE and not binding.path
        if followed and isinstance(value, ast.Name | ast.Attribute):
            return self._follow(value, depth + 1)
        return ""


def same(dotted: str) -> str:
    """Return the one way to write a name."""
    return _KERAS.sub("keras", _TENSORFLOW.sub("tf", dotted))
