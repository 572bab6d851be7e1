"""The verdict of a search and what it rests on; `autotune.result.answer` puts it into words."""

from __future__ import annotations

from enum import StrEnum

from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.reason import Rule
from autotune.stats.intervals import EXPECTED, Interval, Noise
from autotune.value import Value


class Verdict(StrEnum):
    """The answer to "should I distribute this training?"."""

    DISTRIBUTE = "distribute"
    """It is 99 % sure that a distributed configuration is faster; the median gain is above the
    margin."""
    ONE_DEVICE = "one device"
    """It is 95 % sure that none gains more than the margin, or staying is expected to lose less
    than 1 %."""
    UNDECIDED = "undecided"
    """Not sure yet; what is likelier faster is recommended meanwhile."""


class Decision(Value):
    """A verdict, and what the posterior of all runs says of it."""

    verdict: Verdict
    challenger: Configuration | None = None
    """The best distributed configuration that was measured; None if none was."""
    gain: Interval | None = None
    """Its score as a multiple of the best single device's."""
    faster: float = 0.0
    """Probability that it is faster than every configuration on one device."""
    none: float = 1.0
    """Probability that no distributed configuration gains more than the margin."""
    staying: float = 0.0
    """What staying on one device is expected to lose, as a share."""
    distributing: float = 0.0
    """What distributing is expected to lose."""
    hosts_lost: bool = False
    """Whether there are distributed configurations for which hosts were lost."""
    more_seconds: float | None = None
    """Further search that is likely to give an answer; None where there is one."""


class VerdictOutcome(StrEnum):
    """How a search came to its verdict; `sentences.toml` has a sentence for each."""

    GAIN = "gain"
    NO_GAIN = "no gain"
    SMALL_LOSS = "small loss"
    NOT_DISTRIBUTABLE = "not distributable"
    MODEL_ALONE = "model alone"
    ONLY_ONE_DEVICE = "only one device"
    OTHER_BATCHES = "other batches"
    REJECTED = "rejected"
    PROVED_SLOWER = "proved slower"
    SLOWER = "slower"
    NOT_AHEAD = "not ahead"
    NOT_TRIED = "not tried"
    SLOWER_SO_FAR = "slower so far"
    NOT_MEASURED = "not measured"
    NOT_CERTIFIED = "not certified"
    HOSTS_LOST = "hosts lost"
    LIKELIER_DISTRIBUTE = "likelier distribute"
    LIKELIER_STAY = "likelier stay"


class Evidence(Value):
    """What a verdict rests on, beside the trials."""

    outcome: VerdictOutcome
    decision: Decision
    rule: Rule | None = None
    """What keeps most distributed configurations from running, where none can."""
    default: Configuration
    """One device with Keras's own settings, as far as the space has them."""
    noise: Noise = EXPECTED
    """Between-run noise."""
    quantity: str = "throughput"
    """What was compared, in words."""
    adjective: str = "fast"
    """What a better configuration is, as in `1.3 times as fast`."""
    value: str = ""
    """What the objective says of the recommended configuration, with its unit."""
    repeats: int = 0
    """Runs that repeated an earlier one."""
    load: Load | None = None
    """What other programs took of the machine during the search; None where nobody looked."""
