"""Comments that silence rules: `# autotune: ignore[rule]` and `# autotune: ignore-file[rule]`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from autotune.lint.finding import Trouble
from autotune.lint.text import Text, comments

_COMMENT = re.compile(r"#\s*autotune:\s*(ignore(?:-file)?)\b\s*(?:\[([^\]]*)\])?")
MARK = "autotune:"
EVERYTHING = "*"
"""Stands for all rules."""


@dataclass(frozen=True, kw_only=True)
class Suppressions:
    """What a file wants to be silent about."""

    lines: dict[int, set[str]] = field(default_factory=dict)
    """The rules that are silenced in a line."""
    whole: set[str] = field(default_factory=set)
    troubles: tuple[Trouble, ...] = ()

    def silence(self, rule: str, first: int, last: int) -> bool:
        """Return whether a finding from one line to another is not to be told."""
        silenced = self.whole.union(*(self.lines.get(n, ()) for n in {first, last}))
        return rule in silenced or EVERYTHING in silenced


def suppressions(text: Text, known: Collection[str]) -> Suppressions:
    """Return what the comments of a text ask for."""
    if MARK not in text.content:
        return Suppressions()
    found, troubles = Suppressions(), []
    for line, comment in comments(text):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        names = _names(match[2])
        unknown = sorted(names - set(known) - {EVERYTHING})
        if unknown:
            troubles.append(_unknown(text.where(line), unknown))
        target = found.whole if match[1] == "ignore-file" else found.lines.setdefault(line, set())
        target.update(names)
    return Suppressions(lines=found.lines, whole=found.whole, troubles=tuple(troubles))


def _names(listed: str | None) -> set[str]:
    if listed is None:
        return {EVERYTHING}
    return {each.strip() for each in listed.split(",") if each.strip()}


def _unknown(where: str, names: list[str]) -> Trouble:
    listed = ", ".join(names)
    return Trouble(
        text=f"{where}: unknown rule in comment: {listed}. See `autotune doctor --rules`.",
        unread=False,
    )
