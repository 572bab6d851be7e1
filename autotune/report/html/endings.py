"""What gave no figure, or none to be compared: pruned, skipped and failed, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.report.words import counted, in_short, sentence
from autotune.run.engine import Outcome
from autotune.sentences.reasons import reason_text
from autotune.trial import Trial

NAMED = 4
"""Trials of one cause that are named; of the others the numbers are told."""
_LAST = (Outcome.PRUNED, Outcome.SKIPPED)
"""What belongs to a search that goes well stands below what went wrong."""
_MEANING = {
    Outcome.PRUNED: "stopped early: significantly slower than one device",
    Outcome.SKIPPED: "not started: cannot be faster, or cannot run here",
}


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Trials that ended alike, for the same reason."""

    outcome: str
    bad: bool
    reason: str
    trials: tuple[str, ...]
    more: str
    """The numbers of those that are not named."""


@dataclass(frozen=True, kw_only=True)
class Endings:
    """All of them."""

    sentence: str
    causes: tuple[Cause, ...]


def endings(trials: Sequence[Trial]) -> Endings:
    """Return the causes, those first that somebody should look at."""
    groups: dict[tuple[Outcome, str], list[Trial]] = {}
    for trial in trials:
        if not trial.measured:
            groups.setdefault((trial.outcome, sentence(reason_text(trial.reason))), []).append(
                trial
            )
    ordered = sorted(groups.items(), key=lambda item: _rank(item[0][0]))
    return Endings(
        sentence=_sentence(trials),
        causes=tuple(_cause(outcome, reason, mine) for (outcome, reason), mine in ordered),
    )


def _rank(outcome: Outcome) -> int:
    return _LAST.index(outcome) + 1 if outcome in _LAST else 0


def _cause(outcome: Outcome, reason: str, trials: Sequence[Trial]) -> Cause:
    return Cause(
        outcome=outcome,
        bad=outcome not in _LAST,
        reason=reason,
        trials=tuple(f"{each.number}: {in_short(each.configuration)}" for each in trials[:NAMED]),
        more=", ".join(str(each.number) for each in trials[NAMED:]),
    )


def _sentence(trials: Sequence[Trial]) -> str:
    found = [trial.outcome for trial in trials if not trial.measured]
    if not found:
        return "None: every trial was measured."
    parts = [
        f"{counted(found.count(each), 'trial')} {each} ({_MEANING[each]})"
        for each in _LAST
        if each in found
    ]
    bad = sum(each not in _LAST for each in found)
    failed = [f"{counted(bad, 'trial')} failed"] if bad else []
    return f"{'; '.join(failed + parts)}."
