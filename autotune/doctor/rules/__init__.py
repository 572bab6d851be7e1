"""The rules: those in the modules of this folder, and those of entry points of other packages."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from autotune.doctor.rule import Rule
from autotune.errors import UsageError
from autotune.text import hint
from autotune.versions import load_plugins

GROUP = "autotune.rules"
"""Of the entry points; each names a `Rule`."""


@cache
def rules() -> dict[str, Rule]:
    """Return every rule by its name, in alphabetical order."""
    own = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    members = [member for module in own for member in vars(module).values()]
    found = (each for each in members if isinstance(each, Rule))
    every = (*load_plugins(GROUP, Rule).values(), *found)
    return {rule.name: rule for rule in sorted(every, key=lambda each: each.name)}


def choose(select: Iterable[str] | None, ignore: Iterable[str] | None) -> dict[str, Rule]:
    """Return the selected rules, all of them for None, without the ignored ones."""
    wanted = {find(name).name for name in select} if select is not None else set(rules())
    wanted -= {find(name).name for name in ignore or ()}
    if not wanted:
        raise UsageError("No rules selected.", "Ignore fewer rules, or select one.")
    return {name: rule for name, rule in rules().items() if name in wanted}


def find(name: str) -> Rule:
    """Return the rule of that name, or raise UsageError."""
    if name in rules():
        return rules()[name]
    raise UsageError(f"Unknown rule {name!r}.", hint(name, rules()))
