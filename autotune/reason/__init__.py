"""How a trial ended, and why: a kind with its data.

Decisions read these values. `sentences.toml` has a sentence for each kind.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import model_validator

from autotune.base import Scalar, Value


class Outcome(StrEnum):
    """How a trial ended."""

    MEASURED = "measured"
    """Its throughput was measured."""
    PRUNED = "pruned"
    """Stopped early: it was significantly slower than one device."""
    SKIPPED = "skipped"
    """Not started: it cannot be faster, or cannot run on this machine."""
    OUT_OF_MEMORY = "out of memory"
    """It exceeded the memory limit of the process group or of a device."""
    CRASHED = "crashed"
    """A process was killed by a signal or exited without a result."""
    HUNG = "hung"
    """A phase exceeded its time limit."""
    FAILED = "failed"
    """The user's code or TensorFlow raised an exception."""
    UNFINISHED = "unfinished"
    """The budget ended before its throughput was measured."""
    UNSTABLE = "unstable"
    """Its throughput did not stabilize within the warm-up limit."""
    REJECTED = "rejected"
    """It failed certification: it does not train like one device."""

    @property
    def verb(self) -> str:
        """What a configuration has done that ended so, as in `it ran out of memory`."""
        return _VERBS.get(self, str(self))


_VERBS = {
    Outcome.OUT_OF_MEMORY: "ran out of memory",
    Outcome.UNFINISHED: "was not measured within the budget",
    Outcome.UNSTABLE: "did not reach a stable throughput",
    Outcome.REJECTED: "failed certification",
}


class Phase(StrEnum):
    """A phase of a running trial, each with a time limit."""

    START = "start"
    """From the request until every process begins to train."""
    FIRST_STEP = "first step"
    """From there to the end of the first step, which compiles it."""
    STEADY = "steady"
    """Afterwards."""
    WHOLE = "whole"
    """All of them together."""


class Cause(StrEnum):
    """An error of TensorFlow or Keras whose cause is known."""

    TOO_FEW_FILES = "too_few_files"
    XLA_COLLECTIVES = "xla_collectives"
    XLA_VARIABLES = "xla_variables"
    PORT_TAKEN = "port_taken"
    NO_TPU = "no_tpu"
    INDIVISIBLE_BATCH = "indivisible_batch"
    UNEQUAL_EXAMPLES = "unequal_examples"
    UPDATE_IN_CONDITION = "update_in_condition"
    WORKER_SILENT = "worker_silent"


class ReasonKind(StrEnum):
    """A reason that nothing reads but its sentence, with the figures that this one needs."""

    MEASURED = "measured"
    COMPLETED = "completed"
    """It did what it was run for, which was not to be timed."""
    SLOWER = "slower"
    """`most` is the upper bound of its score, as a share of that of the best single device."""
    NOT_STATIONARY = "not_stationary"
    """`seconds` is the duration of its training."""
    ORPHANED = "orphaned"
    """The parent process of all trials was killed."""
    UNATTENDED = "unattended"
    """An agent heard nothing of the tuner for so many `seconds`, and ended its processes."""
    MEMORY_EXCEEDED = "memory_exceeded"
    """`used` and `limit`, in bytes."""
    NOT_FINITE = "not_finite"
    """A logged value became NaN or infinite: its `name`, its `value` and the `step`."""
    FINISHED_EARLY = "finished_early"
    EXCLUDED = "excluded"
    """It was not run again, because the search's process died `deaths` times while running it."""


class PlainReason(Value, extra="ignore"):
    """A reason without a class of its own."""

    kind: ReasonKind
    figures: tuple[tuple[str, Scalar], ...] = ()
    """Figures and names by the words that stand for them in the sentence; also arguments."""

    @model_validator(mode="before")
    @classmethod
    def _take(cls, given: Any) -> Any:
        """Take each figure as an argument of its own, as stored results have them too."""
        if not isinstance(given, dict) or "figures" in given:
            return given
        figures = tuple((name, each) for name, each in given.items() if name != "kind")
        return {"kind": given.get("kind"), "figures": figures}


class BudgetEnded(Value):
    """The budget ended first, which says nothing of the configuration."""

    kind: Literal["budget_ended"] = "budget_ended"
    phase: Phase | None = None
    """In which phase of the run; None where it was already being timed."""
    seconds: float = 0.0
    """Duration of that phase by then."""


class Overdue(Value):
    kind: Literal["overdue"] = "overdue"
    phase: Phase
    seconds: float
    """The limit."""


class Killed(Value):
    kind: Literal["killed"] = "killed"
    process: str = ""
    """Name of the process, such as `worker 1`; empty if it was the only one."""
    signal: int


class Exited(Value):
    kind: Literal["exited"] = "exited"
    process: str = ""
    code: int


class KernelKilled(Value):
    kind: Literal["kernel_killed"] = "kernel_killed"
    process: str = ""


class HostLost(Value):
    """A host does not answer any more, or its agent was killed."""

    kind: Literal["host_lost"] = "host_lost"
    host: str
    """Its name and address."""
    silent: float | None = None
    """Seconds without an answer; None where its end was known at once."""
    memory: bool = False
    """Whether the cluster ended its agent for want of memory."""


class TooFewHosts(Value):
    kind: Literal["too_few_hosts"] = "too_few_hosts"
    needed: int
    left: int


class Raised(Value):
    kind: Literal["raised"] = "raised"
    process: str = ""
    error: str
    """Class of the exception."""
    message: str
    """The line that says what is wrong."""
    where: str = ""
    """File and line in the user's code, if known."""


class KnownError(Value):
    kind: Literal["known_error"] = "known_error"
    process: str = ""
    cause: Cause


class CheckKind(StrEnum):
    """What a check of a distributed training saw."""

    NOT_COMPARABLE = "examples not comparable"
    DISJOINT = "disjoint examples"
    CHANGING = "changing dataset"
    MORE_THAN_EPOCH = "more than an epoch"
    OVERLAP = "overlap"
    FEW_COMMON = "few examples in common"
    DUPLICATES = "no more than the duplicates"
    MAYBE_DUPLICATES = "maybe duplicates"
    SIZES_UNKNOWN = "sizes unknown"
    EMPTY_BATCH = "empty batch"
    OTHER_SIZE = "other size"
    EQUAL_SIZES = "equal sizes"
    OTHER_ELEMENTS = "other elements"
    EQUAL_ELEMENTS = "equal elements"
    OTHER_START = "other start"
    EQUAL_START = "equal start"
    SAME_RANDOM = "same random numbers"
    NO_RANDOM = "no random numbers"
    OWN_RANDOM = "own random numbers"
    DIVERGED = "diverged"
    EQUAL_REPLICAS = "equal replicas"
    OUTSIDE_SCOPE = "outside of the scope"
    ON_ALL_REPLICAS = "on all replicas"
    ASYNCHRONOUS = "asynchronous"
    RUN_FAILED = "run failed"
    REFERENCE_FAILED = "reference failed"
    NOT_REPLAYED = "not replayed"
    OTHER_VARIABLES = "other variables"
    OTHER_LENGTH = "other length"
    NOT_FINITE = "not finite"
    UNMOVED = "no weight changed"
    ASTRAY = "astray"
    UNCLEAR = "unclear"
    A_LITTLE_ASTRAY = "a little astray"
    SAME_RESULT = "same result"
    OTHER_LOSS = "other logged loss"
    NORMALIZATION_LEFT_OUT = "batch normalization left out"


class Seen(Value):
    """What a check saw."""

    kind: CheckKind
    figures: tuple[tuple[str, Scalar], ...] = ()
    """Figures and names by the words that stand for them in the sentence."""
    reason: Reason | None = None
    """Why a run failed, if that is what was seen."""


class Uncertified(Value):
    kind: Literal["uncertified"] = "uncertified"
    findings: tuple[Seen, ...]
    """What the failed checks saw."""


class Message(Value):
    """Words of an engine that has none of the other kinds to give."""

    kind: Literal["message"] = "message"
    text: str


Reason = (
    PlainReason
    | BudgetEnded
    | Overdue
    | Killed
    | Exited
    | KernelKilled
    | HostLost
    | TooFewHosts
    | Raised
    | KnownError
    | Uncertified
    | Message
)
"""Any of them; `kind` tells which."""

for _kind in (Seen, Uncertified):
    _kind.model_rebuild()


class RuleKind(StrEnum):
    """Why a configuration cannot run; `sentences.toml` has a sentence for each."""

    ASYNCHRONOUS = "asynchronous"
    INDIVISIBLE_BATCH = "indivisible batch"
    NEAREST_BATCH = "nearest batch"
    OTHER_BATCH = "other batch"
    BATCH_LIMIT = "batch limit"
    DATASET_TOO_SMALL = "dataset too small"
    EPOCH_TOO_SHORT = "epoch too short"
    UNREPEATABLE_CACHE = "unrepeatable cache"
    LATE_CACHE = "late cache"
    OWN_CACHE = "own cache"
    FROZEN_CACHE = "frozen cache"
    UNCOUNTED_CACHE = "uncounted cache"
    CACHE_TOO_LARGE = "cache too large"
    CACHE_BEYOND_DISK = "cache beyond disk"
    TOO_MANY_THREADS = "too many threads"
    FLOAT16_WITHOUT_GPU = "float16 without gpu"
    ONE_REPLICA = "one replica"
    ALONE = "alone"
    CARRIED_STATE = "carried state"
    BUILT_IN_BATCH = "built-in batch"
    SUMMED_LOSS = "summed loss"
    ACCUMULATION = "accumulation"
    EAGER = "eager"
    UNCOMPILABLE = "uncompilable"
    OWN_TRAIN_FUNCTION = "own train function"
    STRATEGY = "strategy"


class Rule(Value):
    """A rule that a configuration breaks."""

    kind: RuleKind
    figure: int | None = None
    """The limit or size that it is about."""
    replicas: int = 1
    """Among which a batch is divided."""
    text: str = ""
    """The words of a strategy for a rule of its own, or the name of what it is about."""


def indivisible(batch: int, replicas: int) -> Rule:
    """Return why a batch cannot be divided among so many replicas."""
    return Rule(kind=RuleKind.INDIVISIBLE_BATCH, figure=batch, replicas=replicas)


def nearest_batch(own: int, replicas: int) -> Rule:
    """Return what stands for a batch that so many replicas do not divide."""
    return Rule(kind=RuleKind.NEAREST_BATCH, figure=own, replicas=replicas)
