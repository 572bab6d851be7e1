"""What is said of a saved recommendation."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.machine import Machine
from autotune.measure import Interval
from autotune.recommendation import Verdict
from autotune.trial import Trial
from autotune.value import Value
from autotune.verification.answer import Answer


class Comparison(Value):
    """What today's runs of a recommendation and its rival say."""

    answer: Answer
    summary: str
    """The answer and its ground, as a sentence."""
    rival: Configuration | None = None
    """What it was compared with; None where there was nothing, or nothing could be run."""
    ratio: Interval | None = None
    """Throughput of what is recommended as a multiple of its rival's; None below two pairs."""
    pairs: int = 0
    """Rounds in which both were measured."""
    examples_per_second: Interval | None = None
    """Throughput of what is recommended; None if it was not measured."""
    trials: tuple[Trial, ...] = ()


class Verification(Comparison):
    """Whether a saved recommendation still holds on this machine and with the code of today."""

    verdict: Verdict
    """What was recommended: to distribute, or not."""
    configuration: Configuration
    """What was recommended, in full."""
    margin: float
    """A gain of distribution below this share is not worth the trouble."""
    promised: Interval | None
    """Examples per second that the search measured; None if its finals did not take place."""
    share_of_promise: Interval | None
    """Today's throughput as a multiple of that."""
    notes: tuple[str, ...]
    """What differs from the search, and what else should be known, in sentences."""
    machine: Machine
    """The one of today."""
    seconds: float
    """Wall time, TensorFlow's import included."""
