"""What a saved recommendation is compared with, and what the comparison has to show."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.result import Verdict
from autotune.sentences.reasons import rule_text
from autotune.value import Value
from autotune.verification.answer import Answer
from autotune.verification.case import Case
from autotune.verification.default import default_for


class Question(Value):
    """Two configurations, and the bounds between which their ratio decides nothing.

    The ratio is the throughput of what is recommended as a multiple of its rival's.
    """

    rival: Configuration
    holds_above: float
    fails_below: float
    """Looked at first, because a gain below the margin is no reason to distribute."""
    confirmable: bool = True
    """Whether the rival is the best of its kind, so that beating it is enough."""
    mine: str
    """What is recommended, in words, with the verb of the sentence."""
    theirs: str
    """The rival, in words."""
    if_holds: str = ""
    """Consequence, to follow the ratio in a sentence."""
    if_fails: str = ""

    def consequence(self, answer: Answer) -> str:
        """Return what follows from the ratio, as the end of a sentence."""
        return {Answer.HOLDS: self.if_holds, Answer.FAILS: self.if_fails}.get(answer, "")


def question_of(case: Case) -> Question | None:
    """Return what to ask, or None where there is nothing to compare with."""
    if case.saved.verdict is Verdict.DISTRIBUTE:
        return _against_one_device(case)
    rival = case.saved.best_distributed
    if rival and case.why_illegal(rival) is None:
        return _against_distribution(rival, case.saved.margin)
    return _against_default(case)


def notes_on_rival(case: Case) -> tuple[str, ...]:
    """Return what the user should know of the rival, in sentences."""
    saved = case.saved
    if saved.verdict is Verdict.DISTRIBUTE:
        kind, rival = "single device", saved.one_device
        if rival is None:
            return (_STAND_IN,)
    else:
        kind, rival = "distributed configuration", saved.best_distributed
    rule = case.why_illegal(rival) if rival else None
    return (f"The best {kind} of the search cannot run here: {rule_text(rule)}",) if rule else ()


def _against_one_device(case: Case) -> Question | None:
    saved = case.saved
    mine = saved.configuration
    rival = saved.one_device or mine.on_one_device().with_global_batch(mine.global_batch)
    if case.why_illegal(rival):
        return None
    known = saved.one_device is not None
    return Question(
        rival=rival,
        holds_above=1.0,
        fails_below=1 + saved.margin,
        confirmable=known,
        mine="distributed training is",
        theirs="the best single device" if known else "the same settings on one device",
        if_fails=f", a gain of less than {saved.margin:.0%}",
    )


def _against_distribution(rival: Configuration, margin: float) -> Question:
    bound = 1 / (1 + margin)
    return Question(
        rival=rival,
        holds_above=bound,
        fails_below=bound,
        mine="one device is",
        theirs="the best distributed configuration",
        if_holds=f", so distribution gains less than {margin:.0%}",
        if_fails=f", so distribution gains more than {margin:.0%}",
    )


def _against_default(case: Case) -> Question | None:
    winner = case.saved.configuration
    rival = default_for(case.facts, winner.own_values())
    if rival == winner or case.why_illegal(rival):
        return None
    return Question(
        rival=rival,
        holds_above=1.0,
        fails_below=1.0,
        mine="the recommended settings are",
        theirs="the Keras defaults",
    )


_STAND_IN = (
    "The file does not hold the best single-device configuration of the search. The same "
    "settings on one device are used instead, which can refute the recommendation but not "
    "confirm it: tune again."
)
