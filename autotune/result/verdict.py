"""The verdict of a search and what it rests on; `autotune.result.answer` puts it into words."""

from __future__ import annotations

from enum import StrEnum

from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.stats import EXPECTED, Interval, Noise
from autotune.value import Value


class Verdict(StrEnum):
    """The answer to "should I distribute this training?"."""

    DISTRIBUTE = "distribute"
    """A distributed configuration is faster: significantly, and by more than the margin."""
    ONE_DEVICE = "one device"
    """No distributed configuration is faster by more than the margin."""
    UNDECIDED = "undecided"
    """The budget was too small to tell; what is probably faster is recommended meanwhile."""


class Decision(Value):
    """A verdict and the comparison behind it."""

    verdict: Verdict
    challenger: Configuration | None = None
    """The best distributed finalist; None if none was compared."""
    gain: Interval | None = None
    """Its throughput as a multiple of the best single device's."""
    rounds: int = 0
    """Rounds in which both were measured."""
    certified: bool = True
    """Whether the challenger was checked before it could win."""
    contender: Configuration | None = None
    """Another single device still in contention with a challenger that beat the baseline."""
    bimodal: bool = False
    """Whether all runs of the challenger may have been in the faster of two modes."""
    few_tried: bool = False
    """Whether distributed configurations that were not tried may gain as much as the margin."""
    hosts_lost: bool = False
    """Whether distributed configurations may gain as much for which hosts were lost."""
    most: float = 0.0
    """Upper bound on the gain of any challenger, as a multiple of one device."""


class VerdictOutcome(StrEnum):
    """How a search came to its verdict; `autotune.result.answer` has a sentence for each."""

    GAIN = "gain"
    NO_GAIN = "no gain"
    NOT_DISTRIBUTABLE = "not distributable"
    MODEL_ALONE = "model alone"
    ONLY_ONE_DEVICE = "only one device"
    OTHER_BATCHES = "other batches"
    REJECTED = "rejected"
    PROVED_SLOWER = "proved slower"
    SLOWER = "slower"
    NOT_TRIED = "not tried"
    NOT_MEASURED = "not measured"
    NOT_COMPARED = "not compared"
    NOT_CERTIFIED = "not certified"
    BIMODAL = "bimodal"
    FEW_TRIED = "few tried"
    HOSTS_LOST = "hosts lost"
    CONTENDED = "contended"
    LIKELY = "likely"
    NOT_SIGNIFICANT = "not significant"
    AT_MOST = "at most"
    NO_FINALS = "no finals"


class Evidence(Value):
    """What a verdict rests on, beside the trials."""

    outcome: VerdictOutcome
    decision: Decision
    default: Configuration
    """One device with Keras's own settings, as far as the space has them."""
    tried: int = 0
    """Distributed configurations that ran, or were known without a run to be no faster."""
    distributable: int = 0
    """Distributed configurations that there are."""
    unmatched_batch: int | None = None
    """A global batch of the challenger at which one device was not measured."""
    noise: Noise = EXPECTED
    """Between-run noise."""
    prior: Noise = EXPECTED
    """What was expected of it."""
    quantity: str = "throughput"
    """What was compared, in words."""
    adjective: str = "fast"
    """What a better configuration is, as in `1.3 times as fast`."""
    value: str = ""
    """What the objective says of the recommended configuration, with its unit."""
    repeats: int = 0
    """Runs that repeated an earlier one."""
    more_seconds: float | None = None
    """Budget with which a continued search is likely to decide; None where it has decided."""
    shown_gain: float = 0.0
    """Gain that this is long enough to show, as a share."""
    load: Load | None = None
    """What other programs took of the machine during the search; None where nobody looked."""
