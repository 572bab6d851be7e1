"""The rules: one per file of this folder, and those of entry points of other packages.

The docstring of a rule's module says what the mistake is, why it is one, and what to write instead.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pkgutil import iter_modules
from types import ModuleType

from autotune.doctor.report import Severity
from autotune.doctor.rule import Rule
from autotune.errors import UsageError
from autotune.installed import load_plugins
from autotune.text import hint

GROUP = "autotune.rules"
"""Of the entry points; each names a module."""
_WORDS = re.compile(r"(.+)\.\n\nWhy: (.+)\n\nInstead: (.+)", re.DOTALL)


@cache
def rules() -> dict[str, Rule]:
    """Return every rule by its name, in alphabetical order."""
    files = [each.name for each in iter_modules(__path__) if not each.name.startswith("_")]
    own = [import_module(f"{__name__}.{name}") for name in files]
    found = map(rule_of, (*load_plugins(GROUP, ModuleType).values(), *own))
    return {rule.name: rule for rule in sorted(found, key=lambda each: each.name)}


def rule_of(module: ModuleType) -> Rule:
    """Return the rule that a module holds, or raise UsageError."""
    words = _WORDS.fullmatch(cleandoc(module.__doc__ or ""))
    missing = [name for name in ("check", "BAD", "GOOD") if not hasattr(module, name)]
    if words is None or missing:
        lacks = ", ".join(missing) or "a docstring with `Why:` and `Instead:`"
        raise UsageError(f"The module {module.__name__} is no rule: it lacks {lacks}.")
    title, why, instead = (" ".join(each.split()) for each in words.groups())
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    severity = getattr(module, "SEVERITY", Severity.ERROR)
    bad, good = ((it,) if isinstance(it, str) else it for it in (module.BAD, module.GOOD))
    return Rule(name, title, severity, why, instead, module.check, bad, good)


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
