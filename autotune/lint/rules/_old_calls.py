"""Calls of old answers and tutorials, and what is written today; seen with TensorFlow 2.21."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autotune.lint.code import Kind, Module
from autotune.lint.code.names import same
from autotune.lint.rule import Hit

_GUARDS = {"AttributeError", "ImportError", "ModuleNotFoundError", "Exception"}


@dataclass(frozen=True, kw_only=True)
class Old:
    """Names that are old in one way."""

    names: Mapping[str, str]
    """Dotted names, each with what to write today; with a point at the end, for all inside."""
    methods: Mapping[tuple[Kind, str], str]
    """Methods, each with what to write today."""
    verb: str
    """What has become of them."""

    def check(self, module: Module) -> Iterator[Hit]:
        """Yield where they are used."""
        yield from self._imports(module)
        yield from self._mentions(module)
        yield from self._method_calls(module)

    def _imports(self, module: Module) -> Iterator[Hit]:
        for node in module.tree.imports:
            base = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            for each in node.names:
                if not _is_guarded(module, node):
                    yield from self._hit(node, same(f"{base}{each.name}"))

    def _mentions(self, module: Module) -> Iterator[Hit]:
        for name in self.names:
            for node in module.tree.attributes.get(name.rstrip(".").rpartition(".")[2], ()):
                if module.dotted(node) == name.rstrip(".") and not _is_guarded(module, node):
                    whole = _whole(module, node) if name.endswith(".") else node
                    yield from self._hit(whole, module.dotted(whole))

    def _hit(self, node: ast.AST, dotted: str) -> Iterator[Hit]:
        family = (now for name, now in self.names.items() if _is_member(dotted, name))
        today = self.names.get(dotted) or self.names.get(f"{dotted}.") or next(family, "")
        if today:
            yield node, f"{dotted} {self.verb}; use {today}."

    def _method_calls(self, module: Module) -> Iterator[Hit]:
        for (kind, name), today in self.methods.items():
            for call, owner in module.methods(kind, name):
                if not _is_guarded(module, call):
                    said = f"{ast.unparse(owner)}.{name}"
                    yield call, f"{said} {self.verb}; use {today}."


def _whole(module: Module, node: ast.Attribute) -> ast.Attribute:
    """Return the whole of a dotted name that begins with a node."""
    parent = module.tree.parent(node)
    return _whole(module, parent) if isinstance(parent, ast.Attribute) else node


def _is_member(dotted: str, family: str) -> bool:
    """Return whether a name, as it is imported, belongs to a family that is gone as a whole."""
    return family.endswith(".") and dotted.startswith(family)


def _is_guarded(module: Module, node: ast.AST) -> bool:
    """Return whether the code expects that the name may be missing."""
    below = node
    for each in module.tree.above(node):
        if isinstance(each, ast.Try) and below in each.body and _expects(each):
            return True
        if isinstance(each, ast.If | ast.IfExp) and "hasattr(" in ast.unparse(each.test):
            return True
        if isinstance(each, ast.If) and "version" in ast.unparse(each.test).lower():
            return True
        below = each
    return False


def _expects(node: ast.Try) -> bool:
    caught = {
        name.id
        for handler in node.handlers
        if handler.type is not None
        for name in ast.walk(handler.type)
        if isinstance(name, ast.Name)
    }
    return bool(caught & _GUARDS) or any(each.type is None for each in node.handlers)
