"""Import statements as values, so that those of all sources can be merged and sorted."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from autotune.program.text import WIDTH


class Import(NamedTuple):
    """One name that an import statement binds."""

    module: str
    name: str = ""
    """What is taken from the module; empty where the module itself is imported."""
    alias: str = ""
    """Empty where it would be the name itself."""

    @property
    def binds(self) -> str:
        """The name that the program can use afterwards."""
        return self.alias or self.name or self.module.partition(".")[0]

    def __str__(self) -> str:
        target = self.name or self.module
        return f"{target} as {self.alias}" if self.alias else target


def imports_in(text: str) -> list[Import]:
    """Return what the import statements at the top level of a text bind."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            found += [_named(node.module or "", each.name, each.asname) for each in node.names]
        elif isinstance(node, ast.Import):
            found += [_named(each.name, "", each.asname) for each in node.names]
    return found


def _named(module: str, name: str, alias: str | None) -> Import:
    return Import(module, name, alias if alias and alias != (name or module) else "")


def sections(imports: Iterable[Import]) -> str:
    """Return sorted import statements: the future, the standard library, everything else."""
    groups = groupby(sorted({*imports}, key=_order), key=_section)
    return "\n\n".join("\n".join(_statements(group)) for _, group in groups)


def _order(each: Import) -> tuple[int, bool, str, int, str]:
    """As isort does: within a module constants, then classes, then functions."""
    kind = 0 if each.name.isupper() and len(each.name) > 1 else 1 if each.name[:1].isupper() else 2
    return _section(each), bool(each.name), each.module, kind, str(each)


def _section(each: Import) -> int:
    top = each.module.partition(".")[0]
    return 0 if top == "__future__" else 1 if top in sys.stdlib_module_names else 2


def _statements(group: Iterable[Import]) -> Iterator[str]:
    """Yield one statement per module, and one per name with an alias."""
    members: dict[tuple[str, str], list[str]] = {}
    for each in group:
        if each.name:
            members.setdefault((each.module, each.alias), []).append(str(each))
        else:
            yield f"import {each}"
    for (module, _), names in members.items():
        flat = f"from {module} import {', '.join(names)}"
        lines = "".join(f"    {name},\n" for name in names)
        yield flat if len(flat) <= WIDTH else f"from {module} import (\n{lines})"
