"""The operator's folders, and texts for callers, which name files without them."""

from __future__ import annotations

import re
from pathlib import Path

from autotune.api.settings import Settings
from autotune.api.work.messages import Found, GaveUp, Message, Said, TrialDone
from autotune.certificate import Certificate
from autotune.recommendation import Recommendation
from autotune.trial import Trial


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
            case Said(text=text):
                return what.model_copy(update={"text": self.hidden(text)})
            case GaveUp(reason=reason):
                return what.model_copy(update={"reason": self.hidden(reason)})
            case TrialDone(trial=trial):
                return what.model_copy(update={"trial": self._trial(trial)})
            case Found(recommendation=found):
                return what.model_copy(update={"recommendation": self._found(found)})
        return what

    def _trial(self, trial: Trial) -> Trial:
        texts = {"reason": self.hidden(trial.reason), "detail": self.hidden(trial.detail)}
        return trial.model_copy(update=texts)

    def _found(self, found: Recommendation) -> Recommendation:
        texts = {
            "summary": self.hidden(found.summary),
            "reasons": tuple(map(self.hidden, found.reasons)),
            "certificate": found.certificate and self._certificate(found.certificate),
            "trials": tuple(map(self._trial, found.trials)),
        }
        return found.model_copy(update=texts)

    def _certificate(self, found: Certificate) -> Certificate:
        told = (
            each.model_copy(update={"sentence": self.hidden(each.sentence)})
            for each in found.checks
        )
        return found.model_copy(update={"checks": tuple(told)})

    def _relative(self, found: re.Match[str]) -> str:
        prefix = self._prefixes[found[1]]
        return prefix if found[2] else prefix.rstrip("/") or self.root.name


def _forms(folder: Path, prefix: str) -> dict[str, str]:
    """Return how a folder may be written in full, each with what is shown for it and a slash."""
    forms = {str(folder.absolute()), str(folder.resolve())} - {"/"}
    return dict.fromkeys(forms, prefix)


def _from(root: Path, folder: Path) -> str:
    return str(folder.relative_to(root)) if folder.is_relative_to(root) else folder.name
