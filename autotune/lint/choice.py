"""Which rules are run: --select and --ignore."""

from __future__ import annotations

from collections.abc import Iterable

from autotune.errors import UsageError
from autotune.hints import hint
from autotune.lint.rule import Rule
from autotune.lint.rules import rules


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
