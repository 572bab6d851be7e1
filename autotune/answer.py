"""The one answer of a search: produced by the search after every run, and read by all others."""

from enum import StrEnum

from autotune.base import Value
from autotune.config import Configuration
from autotune.engine.load import Load
from autotune.reason import Outcome, Rule
from autotune.stats.intervals import Interval
from autotune.workload import Length


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


class NotTaken(StrEnum):
    """Why a configuration with a higher ratio than the recommended one is not recommended."""

    REJECTED = "rejected"
    """It does not train as one device does."""
    STOPPED = "stopped"
    """Its run ended before it was measured."""
    NOT_CERTIFIED = "not certified"
    """It was not shown to train as one device does."""
    NOT_SURE = "not sure"
    """Its gain over one device is not 95 % sure."""
    SMALL = "small"
    """A smaller change of the own settings is within 1 %."""


class Entry(Value):
    """One configuration that has shown a speed, with what all runs together say of it."""

    configuration: Configuration
    examples_per_second: Interval
    """The median of its own runs, with the noise between runs; what a training sustains."""
    ratio: Interval
    """How many times as good as the own settings, by the objective and by the posterior of all
    runs; expected only, where these have not run."""
    score_per_example: float = 1.0
    """Score of an example per second."""
    outcome: Outcome
    runs: int
    not_taken: NotTaken | None = None
    """Why it is not recommended, where its ratio is higher than that of what is."""


class Further(Value):
    """What a longer search is expected to take and to save."""

    seconds: float
    saves: float
    """Seconds of training, or device seconds where cost is the objective."""
    devices: float = 1.0
    """For how many devices the seconds of the search count: 1 unless cost is the objective."""

    @property
    def pays(self) -> bool:
        return self.saves > self.seconds * self.devices


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
    nothing has shown a speed."""
    distributed_gain: Interval | None = None
    """How many times as good as the leader on one device the distributed leader is."""
    value: Interval | None = None
    """What the objective says of the recommended configuration; None where it did not run."""
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
    """What going on would take and save; None where nothing is left to run. Where it saves less
    than it takes, the search has ended because of that."""
    base: float | None = None
    """Score of the first run of the own settings, with which single runs are compared; None while
    they have shown no speed, so that all ratios are only expected."""
    entries: tuple[Entry, ...] = ()
    """All that has shown a speed, the highest ratio first."""
    rule: Rule | None = None
    """What keeps most distributed configurations from running, where none can."""
    repeats: int = 0
    """Runs that repeated an earlier one."""
    load: Load | None = None
    """What other programs took of the machine during the search; None where nobody looked."""

    def entry(self, configuration: Configuration | None) -> Entry | None:
        """Return what the runs say of a configuration; None where it has shown no speed."""
        return next((e for e in self.entries if e.configuration == configuration), None)

    @property
    def examples_per_second(self) -> Interval | None:
        """Throughput that a training by the recommended configuration sustains, where it ran."""
        found = self.entry(self.recommended)
        return found.examples_per_second if found else None

    @property
    def distributes(self) -> float:
        """Probability that something distributed gains more than the margin."""
        given = self.probability
        return given if self.verdict is Verdict.DISTRIBUTE else 1 - given

    def ratio_of_run(self, configuration: Configuration, rate: float | None) -> float | None:
        """Return how many times as good as the first run of the own settings a run was."""
        found = self.entry(configuration)
        return found.score_per_example * rate / self.base if found and rate and self.base else None
