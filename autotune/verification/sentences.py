"""Answers in words."""

from __future__ import annotations

from collections.abc import Mapping

from autotune.measure import Interval
from autotune.sentences.reasons import reason_text
from autotune.trial import Trial
from autotune.verification.answer import Answer
from autotune.verification.question import Question

LEADS: Mapping[Answer, str] = {
    Answer.HOLDS: "Confirmed",
    Answer.FAILS: "Refuted",
    Answer.UNCLEAR: "Inconclusive",
}
MORE_TIME = "allow more time"


def sentence(answer: Answer, ground: str) -> str:
    """Return an answer with its ground as a sentence."""
    line = " ".join(ground.split())
    return f"{LEADS[answer]}: {line}{'' if line.endswith(('.', '!', '?')) else '.'}"


def comparison(answer: Answer, question: Question, ratio: Interval, pairs: int) -> str:
    """Return the ground of an answer that pairs of runs gave.

    Args:
        answer: It.
        question: What was compared.
        ratio: What is recommended as a multiple of its rival, from at least two pairs.
        pairs: How many there were.
    """
    factor = f"{ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})"
    text = f"{question.mine} {factor} as fast as {question.theirs}"
    if answer is Answer.UNCLEAR and question.confirmable:
        return f"{text} after {pairs} pair{'s' * (pairs != 1)} of runs; {MORE_TIME}"
    return text + question.consequence(answer)


def too_few(pairs: int) -> str:
    """Return the ground of an answer without a ratio."""
    done = "time for only 1 pair of runs" if pairs else "no time for a pair of runs"
    return f"there was {done}; {MORE_TIME}"


def unmeasured(who: str, trial: Trial) -> str:
    """Return why a run says nothing of speed."""
    return f"{who} was not measured ({trial.outcome}): {reason_text(trial.reason)}"
