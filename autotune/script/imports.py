"""Import statements as values, so that those of all sources can be merged and sorted."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import NamedTuple

from autotune.script.text import WIDTH


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


def imports_of(statement: ast.Import | ast.ImportFrom) -> tuple[Import, ...]:
    """Return what a statement binds."""
    if isinstance(statement, ast.ImportFrom):
        module = statement.module or ""
        return tuple(Import(module, each.name, each.asname or "") for each in statement.names)
    return tuple(Import(each.name, "", each.asname or "") for each in statement.names)


def sections(imports: Iterable[Import]) -> str:
    """Return sorted import statements: the future, the standard library, everything else."""
    groups: tuple[list[Import], ...] = ([], [], [])
    for each in sorted(set(imports), key=lambda one: (one.module, one.name, one.alias)):
        groups[_section(each)].append(each)
    return "\n\n".join(_statements(group) for group in groups if group)


def _section(each: Import) -> int:
    top = each.module.partition(".")[0]
    return 0 if top == "__future__" else 1 if top in sys.stdlib_module_names else 2


def _statements(group: Iterable[Import]) -> str:
    plain, members = [], dict[str, list[str]]()
    for module, name, alias in group:
        renamed = f"{name or module} as {alias}" if alias and alias != name else name or module
        if name:
            members.setdefault(module, []).append(renamed)
        else:
            plain.append(f"import {renamed}")
    return "\n".join([*plain, *(_from(module, names) for module, names in members.items())])


def _from(module: str, names: list[str]) -> str:
    flat = f"from {module} import {', '.join(names)}"
    if len(flat) <= WIDTH:
        return flat
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
