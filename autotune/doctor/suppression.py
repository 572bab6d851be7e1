"""Comments that silence rules, in their line or in the whole file.

`# noqa: rule` and `# autotune: ignore[rule]` silence a rule in their line,
`# autotune: noqa: rule` and `# autotune: ignore-file[rule]` in the file; without a rule, all.
"""

import re

from autotune.doctor.report import Finding, Trouble
from autotune.doctor.rules import rules
from autotune.doctor.text import Text

_EVERYTHING = "*"
"""Stands for all rules."""
_WHOLE_FILE = 0
"""Stands for all lines."""
_NAMES = r"[\w-]+(?:\s*,\s*[\w-]+)*"
_OURS = re.compile(r"#\s*autotune:\s*(ignore(?:-file)?)\b\s*(?:\[([^\]]*)\])?", re.IGNORECASE)
_NOQA = re.compile(rf"#\s*((?:autotune:\s*)?)noqa\b(?::\s*({_NAMES}))?", re.IGNORECASE)


class Suppressions:
    def __init__(self, text: Text) -> None:
        self._silent: set[tuple[int, str]] = set()
        self.troubles: list[Trouble] = []
        for line, comment in text.comments():
            if ours := _OURS.search(comment):
                whole = ours[1].lower() == "ignore-file"
                unknown = self._silence(_WHOLE_FILE if whole else line, ours[2]) - {*rules()}
                if named := ", ".join(sorted(unknown - {_EVERYTHING})):
                    message = f"{text.where(line)}: unknown rule in comment: {named}."
                    message = f"{message} See `autotune doctor --rules`."
                    self.troubles.append(Trouble(message, unread=False))
            if noqa := _NOQA.search(comment):
                self._silence(_WHOLE_FILE if noqa[1] else line, noqa[2])

    def _silence(self, line: int, listed: str | None) -> set[str]:
        names = _EVERYTHING if listed is None else listed.lower()
        found = {each.strip() for each in names.split(",")} - {""}
        self._silent |= {(line, name) for name in found}
        return found

    def hide(self, finding: Finding, first: int, last: int) -> bool:
        """Return whether a finding is silenced, which stands in these lines of the text."""
        lines, names = (first, last, _WHOLE_FILE), (finding.rule, _EVERYTHING)
        return any((line, name) in self._silent for line in lines for name in names)
