"""Pieces of program text, laid out as ruff's formatter would, and the templates that hold them.

Import statements are values, so that those of all sources can be merged and sorted.
"""

import ast
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from textwrap import fill
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from autotune.base import Scalar
from autotune.library import NAMES

WIDTH = 100


def literal(value: Scalar | None) -> str:
    """Return a value as Python text, with double quotes where they need no more escapes."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    text = repr(value)
    if '"' not in text:  # so that every single quote in it is a delimiter
        return text.replace("'", '"')
    if not isinstance(value, str) or "'" not in value or value.count("'") < value.count('"'):
        return text
    inside = text[1:-1].replace("\\'", "'").replace('"', '\\"')
    return f'"{inside}"' if text.startswith("'") else text


def call(
    head: str,
    arguments: Iterable[str],
    *,
    before: str = "",
    indent: int = 0,
    deeper: int = 0,
) -> str:
    """Return a call, on one line if it fits, to stand at `indent` behind `before`.

    A template may then put it so much `deeper`.
    """
    parts = [*arguments]
    flat = f"{before}{head}({', '.join(parts)})"
    if deeper + indent + len(flat) <= WIDTH or not parts:
        return flat
    inner = " " * (indent + 4)
    together = inner + ", ".join(parts)
    apart = "\n".join(f"{inner}{part}," for part in parts)
    body = together if deeper + len(together) <= WIDTH else apart
    return f"{before}{head}(\n{body}\n{' ' * indent})"


def paragraph(text: str, *, first: int = 0) -> str:
    """Return text filled to the width; its first line is to stand at `first`."""
    return fill(
        " ".join(text.split()),
        width=WIDTH,
        initial_indent=" " * first,
        break_long_words=False,
        break_on_hyphens=False,
    ).lstrip()


class Import(NamedTuple):
    """One name that an import statement binds."""

    module: str
    name: str = ""
    """What is taken from the module; empty where the module itself is imported."""
    alias: str = ""
    """Empty where it would be the name itself."""

    @property
    def binds(self) -> str:
        return self.alias or self.name or self.module.partition(".")[0]

    def __str__(self) -> str:
        target = self.name or self.module
        return f"{target} as {self.alias}" if self.alias else target


def imports_in(text: str) -> list[Import]:
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            found += [Import(node.module or "", it.name, it.asname or "") for it in node.names]
        elif isinstance(node, ast.Import):
            found += [Import(each.name, alias=each.asname or "") for each in node.names]
    return found


def sections(imports: Iterable[Import]) -> str:
    """Return sorted import statements: the future, Python's, others, what lies beside."""
    groups = groupby(sorted({*imports}, key=_order), key=_section)
    return "\n\n".join("\n".join(_statements(group)) for _, group in groups)


def _order(each: Import) -> tuple[int, bool, str, int, str]:
    """As isort does: within a module constants, then classes, then functions."""
    kind = 0 if each.name.isupper() and len(each.name) > 1 else 1 if each.name[:1].isupper() else 2
    return _section(each), bool(each.name), each.module, kind, str(each)


def _section(each: Import) -> int:
    top = each.module.partition(".")[0]
    if top in NAMES:
        return 3
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


def fill_in(template: str, context: Mapping[str, object]) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autotune.program"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the result is a program, not a web page
    )
    environment.filters["literal"] = literal
    environment.filters["paragraph"] = paragraph
    return environment
