"""The one answer of a search: produced by the search after every run, and read by all others."""

from __future__ import annotations

from enum import StrEnum

from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.length import Length
from autotune.reason import Outcome, Rule
from autotune.space.origin import Origin
from autotune.stats.intervals import Interval
from autotune.value import Value


class Verdict(StrEnum):
    """The answer to "should I distribute this training?"."""

    DISTRIBUTE = "distribute"
    """Something distributed is recommended: it is certified, and its gain over the best single
    device is above the margin with a probability of 95 %."""
    ONE_DEVICE = "one device"
    """Nothing distributed is recommended, and no further run is expected to save what it takes."""
    UNDECIDED = "not sure yet"
    """A limit, Ctrl-C or a failure ended a search that would still have paid."""


class Because(StrEnum):
    """What a verdict rests on; `sentences.toml` has a sentence for each."""

    FASTER = "faster"
    """The distributed leader is faster than the best single device."""
    NOT_FASTER = "not faster"
    """What ran distributed is not faster than the best single device by more than the margin."""
    NOT_TRIED = "not tried"
    """Nothing distributed ran: finding out would take more than it may save."""
    NOT_CERTIFIED = "not certified"
    """The distributed leader was not certified in time."""
    NOT_SURE = "not sure"
    """A distributed configuration leads, and its gain is not 95 % sure."""
    NOT_MEASURED = "not measured"
    """Everything distributed that ran broke down."""
    REJECTED = "rejected"
    """What was faster does not train as one device does."""
    NOT_DISTRIBUTABLE = "not distributable"
    MODEL_ALONE = "model alone"
    ONLY_ONE_DEVICE = "only one device"
    OTHER_BATCHES = "other batches"
    HOSTS_LOST = "hosts lost"


class Ended(StrEnum):
    """What ended a search."""

    PAID = "paid"
    """No further run is expected to save more than it takes."""
    LIMIT = "limit"
    """The time limit or the number of trials."""
    INTERRUPTED = "interrupted"
    """Ctrl-C, or a disk that takes no more."""
    FAILED = "failed"
    """The sampler or the pruner of a user."""


class Entry(Value):
    """One configuration that has shown a speed, with what all runs together say of it."""

    configuration: Configuration
    examples_per_second: Interval
    ratio: Interval | None
    """How many times as good as the own settings, by the objective; None while these have shown
    nothing."""
    outcome: Outcome
    runs: int
    origins: tuple[Origin, ...] = ()
    """Who would have trained so without a search."""


class Further(Value):
    """What a longer search is expected to take and to save, in seconds."""

    seconds: float
    saves: float


class Answer(Value):
    """What all runs so far say: which configuration, how sure, and what it saves."""

    verdict: Verdict
    because: Because
    ended: Ended | None = None
    """None while the search goes on."""
    probability: float
    """That the verdict is right: that the gain is above the margin for *distribute*, that no
    distributed configuration gains more than the margin otherwise."""
    recommended: Configuration
    """The smallest change of the own settings that is expected within 1 % of the best."""
    own: Configuration
    """One device with the user's own settings, or what is nearest to them in the space."""
    one_device: Configuration
    """The leader on one device; the own settings while none has run."""
    several: Configuration | None = None
    """The distributed leader, of what has run; None where nothing did."""
    gain: Interval | None = None
    """How many times as good as the own settings the recommended one is; None where it is them, or
    neither has shown a speed."""
    distributed_gain: Interval | None = None
    """How many times as good as the leader on one device the distributed leader is."""
    examples_per_second: Interval | None = None
    """Throughput of the recommended configuration that a training sustains; None where it did not
    run."""
    value: Interval | None = None
    """What the objective says of the recommended configuration."""
    noise: float
    """Standard deviation of log(score) between runs of one configuration: the only noise."""
    length: Length = Length()
    own_seconds: Interval | None = None
    """Time of the whole training by the own settings, what lies between epochs included."""
    recommended_seconds: Interval | None = None
    """The same with the recommended configuration, as its program is delivered."""
    searched: float
    """Seconds that the search has taken so far."""
    further: Further | None = None
    """What more of it would be expected to save; None where nothing pays any more."""
    entries: tuple[Entry, ...] = ()
    """All that has shown a speed, the best first."""
    rule: Rule | None = None
    """What keeps most distributed configurations from running, where none can."""
    repeats: int = 0
    """Runs that repeated an earlier one."""
    load: Load | None = None
    """What other programs took of the machine during the search; None where nobody looked."""
