"""The rules: one per file of this folder, and those of entry points of other packages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from autotune.doctor.rule import Rule
from autotune.errors import UsageError
from autotune.hints import hint
from autotune.plugins import load_plugins

GROUP = "autotune.rules"
"""Of the entry points; each names a `Rule`."""


@cache
def rules() -> dict[str, Rule]:
    """Return every rule by its name, in alphabetical order.

    Raises:
        UsageError: That of an entry point cannot be used.
    """
    files = [each.name for each in iter_modules(__path__) if not each.name.startswith("_")]
    own: list[Rule] = [import_module(f"{__name__}.{name}").RULE for name in files]
    found = {rule.name: rule for rule in (*load_plugins(GROUP, Rule).values(), *own)}
    return dict(sorted(found.items()))


def choose(select: Iterable[str] | None, ignore: Iterable[str] | None) -> dict[str, Rule]:
    """Return the selected rules, all of them for None, without the ignored ones.

    Raises:
        UsageError: A name is no rule, or no rule is left.
    """
    wanted = {find(name).name for name in select} if select is not None else set(rules())
    wanted -= {find(name).name for name in ignore or ()}
    if not wanted:
        raise UsageError("No rules selected.", "Ignore fewer rules, or select one.")
    return {name: rule for name, rule in rules().items() if name in wanted}


def find(name: str) -> Rule:
    """Return the rule of that name.

    Raises:
        UsageError: There is none.
    """
    if name in rules():
        return rules()[name]
    raise UsageError(f"Unknown rule {name!r}.", hint(name, rules()))
