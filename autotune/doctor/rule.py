"""A rule: a function that finds a mistake, and a page with the reason and with examples."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from autotune.code.module import Module
from autotune.doctor.source import Edit
from autotune.errors import UsageError

Hit = tuple[ast.AST, str] | tuple[ast.AST, str, Edit | None]
"""The place, a sentence on the mistake there, and the remedy if it is mechanical."""
Hits = Iterator[Hit]
HERE = "# <- here"
"""Ends the lines of an example where the rule must find something."""
_PAGE = re.compile(
    r"\*(Error|Warning):\* (.+)\.\n\n\*Why:\* (.+)\n\n\*Instead:\* (.+?)\n\n```diff\n.+", re.DOTALL
)
_EXAMPLE = re.compile(r"^```diff\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Severity(StrEnum):
    ERROR = "error"
    """It fails, or it learns wrongly."""
    WARNING = "warning"
    """It is slow, or goes wrong on some machines."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    name: str
    """The name in output, options and comments."""
    title: str
    """The mistake in a few words."""
    severity: Severity
    why: str
    instead: str
    page: str
    """Title, why and instead in Markdown, with examples: differences of bad and good code."""
    check: Callable[[Module], Hits]

    @property
    def bad(self) -> list[str]:
        return [*dict.fromkeys(_without("+", each) for each in _EXAMPLE.findall(self.page))]

    @property
    def good(self) -> list[str]:
        changed = (it for it in _EXAMPLE.findall(self.page) if re.search("^[+-]", it, re.MULTILINE))
        return [_without("-", each).replace(f"  {HERE}", "") for each in changed]


def rule(check: Callable[[Module], Hits], page: str = "") -> Rule:
    """Return the rule of a function; `rules.md` holds the pages of autotune's own ones.

    Raises:
        UsageError: The page has not the form of a rule's page.
    """
    name = check.__name__.replace("_", "-")
    page = (page or pages().get(name, "")).strip()
    found = _PAGE.fullmatch(page)
    if found is None:
        wanted = "It says `*Error:*` or `*Warning:*`, `*Why:*`, `*Instead:*`, and shows an example."
        raise UsageError(f"The rule {name} has no page as rules have it.", wanted)
    title, why, instead = (" ".join(each.split()) for each in found.groups()[1:])
    severity, words = Severity(found[1].lower()), {"title": title, "why": why, "instead": instead}
    return Rule(name=name, severity=severity, page=page, check=check, **words)


@cache
def pages() -> dict[str, str]:
    """Return the pages of autotune's own rules, by name."""
    text = files("autotune.doctor").joinpath("rules.md").read_text("utf-8")
    parts = re.split("^### (.+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _without(sign: str, example: str) -> str:
    """Return an example without the lines that begin with a sign, and without all signs."""
    return re.sub(rf"^(?:\{sign}.*\n|[ +-])", "", example, flags=re.MULTILINE)
