"""The operator's folders, and texts for callers, which name files without them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from autotune.api.settings import Settings
from autotune.api.work.messages import GaveUp, Message, Stuck
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.value import Value
from autotune.window import Window
from autotune.workload import Workload, WorkloadFacts

_AS_THEY_ARE = (Configuration, Machine, Window, Workload, WorkloadFacts)
"""Values without texts for callers, or that must stay equal to what was measured."""
_VERBATIM = frozenset({"kind", "script", "launch", "study"})
"""Fields that must stay as they are: the program is byte for byte the one that was timed."""


class Places:
    """Takes the operator's folders out of texts; what lies in them is named from the root.

    Args:
        settings: They name the folders.
    """

    def __init__(self, settings: Settings) -> None:
        self.root = settings.root.absolute()
        data = _from(self.root, settings.data.absolute())
        self._prefixes = {**_forms(settings.data, f"{data}/"), **_forms(settings.root, "")}
        longest_first = sorted(map(re.escape, self._prefixes), key=len, reverse=True)
        self._pattern = re.compile(rf"(?<![\w.-])({'|'.join(longest_first)})(/|(?![\w-]|\.\w))")

    def hidden(self, text: str) -> str:
        """Return a text with relative paths in the place of absolute ones."""
        return self._pattern.sub(self._relative, text) if self._prefixes else text

    def told(self, what: Message) -> Message:
        """Return a message with all its texts for callers like that."""
        match what:
            case Stuck():
                return what
            case GaveUp(reason=reason):
                return what.model_copy(update={"reason": self.hidden(reason)})
        shown: Message = self._hide(what)
        return shown

    def _hide(self, what: Any) -> Any:
        if type(what) is str:
            return self.hidden(what)
        if isinstance(what, tuple):
            return tuple(map(self._hide, what))
        if not isinstance(what, Value) or isinstance(what, _AS_THEY_ARE):
            return what
        found = {n: self._hide(each) for n, each in vars(what).items() if n not in _VERBATIM}
        return what.model_copy(update=found)

    def _relative(self, found: re.Match[str]) -> str:
        prefix = self._prefixes[found[1]]
        return prefix if found[2] else prefix.rstrip("/") or self.root.name


def _forms(folder: Path, prefix: str) -> dict[str, str]:
    """Return how a folder may be written in full, each with what is shown for it and a slash."""
    forms = {str(folder.absolute()), str(folder.resolve())} - {"/"}
    return dict.fromkeys(forms, prefix)


def _from(root: Path, folder: Path) -> str:
    return str(folder.relative_to(root)) if folder.is_relative_to(root) else folder.name
