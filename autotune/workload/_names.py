"""Which names of its surroundings a piece of program text needs."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from typing import NamedTuple


class Names(NamedTuple):
    """Names that a text uses and does not define."""

    needed: frozenset[str]
    """All but those in annotations."""
    at_once: frozenset[str]
    """Those of `needed` that are looked up as soon as the text is executed: in decorators,
    defaults, base classes and class bodies."""
    annotations: frozenset[str]
    """Those that stand only in annotations."""


def names_in(text: str) -> Names:
    """Return the names that a definition or a lambda takes from its surroundings."""
    tree = ast.parse(f"({text})" if text.lstrip().startswith("lambda") else text)
    everything = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    bare = ast.unparse(ast.fix_missing_locations(_WithoutAnnotations().visit(tree)))
    top = symtable.symtable(bare, "<source>", "exec")
    own = {each.get_name() for each in top.get_symbols() if each.is_assigned()}
    at_once = frozenset(_used_by(top)) - own
    needed = at_once | (frozenset(_used_within(top)) - own)
    bare_names = {each.id for each in ast.walk(ast.parse(bare)) if isinstance(each, ast.Name)}
    return Names(needed, at_once, frozenset(everything - bare_names - own))


def _used_by(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that executing a block looks up, with the class bodies in it."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        if child.get_type() == "class":
            yield from _used_by(child)


def _used_within(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that the functions in a block take from outside of it."""
    for child in table.get_children():
        for symbol in child.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                yield symbol.get_name()
        yield from _used_within(child)


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        value = node.value or ast.Constant(None)
        return ast.Assign(targets=[node.target], value=self.visit(value), lineno=node.lineno)
