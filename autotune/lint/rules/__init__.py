"""The rules, one per file, found by looking through this folder."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from autotune.lint.rule import Rule


@cache
def rules() -> dict[str, Rule]:
    """Return every rule by its name, in alphabetical order."""
    files = [each.name for each in iter_modules(__path__) if not each.name.startswith("_")]
    found: list[Rule] = [import_module(f"{__name__}.{name}").RULE for name in files]
    return {rule.name: rule for rule in sorted(found, key=lambda rule: rule.name)}
