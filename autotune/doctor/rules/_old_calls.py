"""Calls of old answers and tutorials, and what is written today; seen with TensorFlow 2.21."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from autotune.doctor.code import Kind, Module
from autotune.doctor.code.names import same
from autotune.doctor.edits import Edit, renamed_attribute, without_attribute
from autotune.doctor.rule import Hit
from autotune.doctor.rules._guards import is_guarded
from autotune.doctor.target import Version

_CLUSTER = {"cluster_resolver", "tpu_cluster_resolver"}


@dataclass(frozen=True, kw_only=True)
class Old:
    """Names that are old in one way."""

    names: Mapping[str, str]
    """Dotted names, each with what to write today; with a point at the end, for all inside."""
    methods: Mapping[tuple[Kind | None, str], str]
    """Methods, each with what to write today; of None, whoever has them."""
    verb: str
    """What has become of them."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The methods that only have another name today, and the name."""
    since: Mapping[str, Version] = field(default_factory=dict)
    """The TensorFlow that first lacks a name, for those that were there for long."""

    def check(self, module: Module) -> Iterator[Hit]:
        """Yield where they are used."""
        yield from self._imports(module)
        yield from self._mentions(module)
        yield from self._method_calls(module)

    def _imports(self, module: Module) -> Iterator[Hit]:
        for node in module.tree.imports:
            base = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            for each in () if is_guarded(module, node) else node.names:
                yield from self._hit(module, node, same(f"{base}{each.name}"))

    def _mentions(self, module: Module) -> Iterator[Hit]:
        found: dict[ast.Attribute, None] = {}
        for name in self.names:
            for node in module.tree.attributes.get(name.rstrip(".").rpartition(".")[2], ()):
                if module.dotted(node) == name.rstrip(".") and not is_guarded(module, node):
                    found[_whole(module, node) if name.endswith(".") else node] = None
        for node in found:
            yield from self._hit(module, node, module.dotted(node))

    def _hit(self, module: Module, node: ast.AST, dotted: str) -> Iterator[Hit]:
        fits = [each for each in self.names if dotted == each.rstrip(".") or _holds(each, dotted)]
        name = max(fits, key=len, default="")
        if name and module.target >= self.since.get(name, module.target):
            sentence = f"{dotted} {self.verb}; use {self.names[name]}."
            edit = _promotion(module, node, self.names[name])
            yield (node, sentence, edit) if edit else (node, sentence)

    def _method_calls(self, module: Module) -> Iterator[Hit]:
        for (kind, name), today in self.methods.items():
            for node in module.tree.attributes.get(name, ()):
                call = module.tree.parent(node)
                if not isinstance(call, ast.Call) or call.func is not node:
                    continue
                if kind not in {None, module.kind(node.value)} or is_guarded(module, call):
                    continue
                sentence = f"{ast.unparse(node.value)}.{name} {self.verb}; use {today}."
                if name in self.renamed:
                    yield call, sentence, renamed_attribute(node, self.renamed[name])
                else:
                    yield call, sentence


def _whole(module: Module, node: ast.Attribute) -> ast.Attribute:
    """Return the whole of a dotted name that begins with a node."""
    parent = module.tree.parent(node)
    return _whole(module, parent) if isinstance(parent, ast.Attribute) else node


def _holds(family: str, dotted: str) -> bool:
    """Return whether a name belongs to a family that is gone as a whole."""
    return family.endswith(".") and dotted.startswith(family)


def _promotion(module: Module, node: ast.AST, new: str) -> Edit | None:
    """Return the edit of a call whose name has only left its `experimental`.

    Other arguments than the cluster have other names or places today.
    """
    call = module.tree.parent(node)
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
        return None
    if not isinstance(call, ast.Call) or call.func is not node:
        return None
    named = {each.arg for each in call.keywords} <= _CLUSTER
    placed = not call.args or (new == "tf.distribute.TPUStrategy" and len(call.args) == 1)
    left = f"{module.dotted(node.value.value)}.{node.attr}" == new
    return without_attribute(node.value) if left and named and placed else None
