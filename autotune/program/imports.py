"""Import statements as values, so that those of all sources can be merged and sorted."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import NamedTuple

from autotune.program.text import WIDTH


class Import(NamedTuple):
    """One name that an import statement binds."""

    module: str
    name: str = ""
    """What is taken from the module; empty where the module itself is imported."""
    alias: str = ""

    @property
    def binds(self) -> str:
        """The name that the program can use afterwards."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def renamed(self) -> str:
        """The alias, where it differs from what it stands for."""
        return "" if self.alias == (self.name or self.module) else self.alias

    @property
    def what(self) -> str:
        """The module or name, with its alias."""
        target = self.name or self.module
        return f"{target} as {self.renamed}" if self.renamed else target


def imports_of(statement: ast.Import | ast.ImportFrom) -> tuple[Import, ...]:
    """Return what a statement binds."""
    if isinstance(statement, ast.ImportFrom):
        module = statement.module or ""
        return tuple(Import(module, each.name, each.asname or "") for each in statement.names)
    return tuple(Import(each.name, "", each.asname or "") for each in statement.names)


def sections(imports: Iterable[Import]) -> str:
    """Return sorted import statements: the future, the standard library, everything else."""
    groups: tuple[list[Import], ...] = ([], [], [])
    for each in sorted({*imports}, key=_order):
        groups[_section(each)].append(each)
    return "\n\n".join(_statements(group) for group in groups if group)


def _order(each: Import) -> tuple[str, int, str]:
    """As isort does: within a module constants, then classes, then functions."""
    kind = 0 if each.name.isupper() and len(each.name) > 1 else 1 if each.name[:1].isupper() else 2
    return each.module, kind, each.what


def _section(each: Import) -> int:
    top = each.module.partition(".")[0]
    return 0 if top == "__future__" else 1 if top in sys.stdlib_module_names else 2


def _statements(group: Iterable[Import]) -> str:
    """Return one statement per module, and one per name with an alias, as isort does."""
    plain: list[str] = []
    members: dict[tuple[str, str], list[str]] = {}
    for each in group:
        if each.name:
            members.setdefault((each.module, each.renamed), []).append(each.what)
        else:
            plain.append(f"import {each.what}")
    return "\n".join([*plain, *(_from(module, names) for (module, _), names in members.items())])


def _from(module: str, names: list[str]) -> str:
    flat = f"from {module} import {', '.join(names)}"
    if len(flat) <= WIDTH:
        return flat
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
