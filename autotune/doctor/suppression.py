"""Comments that silence rules, in their line or in the whole file.

`# noqa: rule` and `# autotune: ignore[rule]` silence a rule in their line,
`# autotune: noqa: rule` and `# autotune: ignore-file[rule]` in the file; without a rule, all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from autotune.doctor.report import Finding, Trouble
from autotune.doctor.rules import rules
from autotune.doctor.text import Text, comments

_EVERYTHING = "*"
"""Stands for all rules."""
_WHOLE_FILE = 0
"""Stands for all lines."""
_NAMES = r"[\w-]+(?:\s*,\s*[\w-]+)*"
_OURS = re.compile(r"#\s*autotune:\s*(ignore(?:-file)?)\b\s*(?:\[([^\]]*)\])?", re.IGNORECASE)
_NOQA = re.compile(rf"#\s*((?:autotune:\s*)?)noqa\b(?::\s*({_NAMES}))?", re.IGNORECASE)
_WORDS = ("autotune:", "noqa")


class Suppressions:
    """What the comments of a text silence."""

    def __init__(self, text: Text) -> None:
        self._silent: dict[int, set[str]] = defaultdict(set)
        self.troubles: list[Trouble] = []
        content = text.content.lower()
        for line, comment in comments(text) if any(each in content for each in _WORDS) else ():
            for whole_file, names in _silenced(comment):
                self._silent[_WHOLE_FILE if whole_file else line] |= names
            self.troubles += _unknown(text.where(line), comment)

    def hide(self, finding: Finding, first: int, last: int) -> bool:
        """Return whether a finding is silenced, which stands in these lines of the text."""
        silent = self._silent[first] | self._silent[last] | self._silent[_WHOLE_FILE]
        return bool(silent & {finding.rule, _EVERYTHING})


def _silenced(comment: str) -> Iterator[tuple[bool, set[str]]]:
    """Yield the rules that a comment silences, and whether it does so in the whole file."""
    if ours := _OURS.search(comment):
        yield ours[1].lower() == "ignore-file", _names(ours[2])
    if noqa := _NOQA.search(comment):
        yield bool(noqa[1]), _names(noqa[2])


def _names(listed: str | None) -> set[str]:
    names = _EVERYTHING if listed is None else listed.lower()
    return {each.strip() for each in names.split(",")} - {""}


def _unknown(where: str, comment: str) -> Iterator[Trouble]:
    """Yield what an own comment says of rules that there are not; `noqa` may mean others'."""
    ours = _OURS.search(comment)
    names = _names(ours[2]) if ours else set()
    unknown = ", ".join(sorted(names - {*rules(), _EVERYTHING}))
    if unknown:
        told = f"{where}: unknown rule in comment: {unknown}."
        yield Trouble(text=f"{told} See `autotune doctor --rules`.", unread=False)
