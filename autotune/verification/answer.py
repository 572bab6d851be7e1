"""The answer to whether a saved recommendation still holds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.result import Verdict
from autotune.stats.intervals import Interval
from autotune.text import sentence
from autotune.trial import Trial
from autotune.value import Value


class Answer(StrEnum):
    """What the runs of today say of a saved recommendation."""

    HOLDS = "holds"
    """Confirmed by the runs."""
    FAILS = "fails"
    """Refuted by the runs, or the alternative alone still runs."""
    UNCLEAR = "unclear"
    """Inconclusive within the given time."""


class Comparison(Value):
    """The comparison of a recommendation with its best alternative."""

    answer: Answer
    summary: str
    """The answer with its reason, as a sentence."""
    challenger: Configuration | None = None
    """The alternative; None if there was none, or nothing could run."""
    ratio: Interval | None = None
    """Throughput of the recommendation relative to the alternative; None below 2 pairs."""
    pairs: int = 0
    """Pairs of runs in which both were measured."""
    examples_per_second: Interval | None = None
    """Throughput of the recommended configuration; None if it was not measured."""
    trials: tuple[Trial, ...] = ()


LEADS: Mapping[Answer, str] = {
    Answer.HOLDS: "Confirmed",
    Answer.FAILS: "Refuted",
    Answer.UNCLEAR: "Inconclusive",
}


def compared(answer: Answer, ground: str) -> Comparison:
    return Comparison(answer=answer, summary=sentence(f"{LEADS[answer]}: {ground}"))


class Verification(Comparison):
    """Whether a saved recommendation still holds on this machine with the current code."""

    verdict: Verdict
    """The saved verdict."""
    configuration: Configuration
    """The recommended configuration."""
    margin: float
    """Minimum relative gain for which distribution is recommended."""
    expected: Interval | None
    """Examples per second in the search."""
    ratio_to_expected: Interval | None
    """The current throughput relative to `expected`."""
    notes: tuple[str, ...]
    """Differences from the search and other remarks, one sentence each."""
    machine: Machine
    """The current machine."""
    seconds: float
    """Wall time, including the import of TensorFlow."""
