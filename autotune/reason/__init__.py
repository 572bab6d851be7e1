"""How a trial ended, and why: a kind with its data.

Decisions read these values. `autotune.reason.sentences` puts them into words.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from autotune.value import Scalar, Value


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

    NCCL_WITHOUT_GPU = "nccl_without_gpu"
    TOO_FEW_FILES = "too_few_files"
    NO_FILES = "no_files"
    XLA_COLLECTIVES = "xla_collectives"
    XLA_VARIABLES = "xla_variables"
    FIT_WITH_WORKERS = "fit_with_workers"
    FIT_WITH_REDUCTION = "fit_with_reduction"
    FIT_WITH_SERVERS = "fit_with_servers"
    PORT_TAKEN = "port_taken"
    NO_TPU = "no_tpu"
    INDIVISIBLE_BATCH = "indivisible_batch"
    UPDATE_IN_CONDITION = "update_in_condition"
    WORKER_SILENT = "worker_silent"


class Measured(Value):
    """Its throughput was measured."""

    kind: Literal["measured"] = "measured"


class Completed(Value):
    """It did what it was run for, which was not to be timed."""

    kind: Literal["completed"] = "completed"


class Slower(Value):
    """It was stopped early, because it was significantly slower than one device."""

    kind: Literal["slower"] = "slower"
    most: float
    """Upper bound of its throughput, as a share of the single-device throughput."""


class BudgetEnded(Value):
    """The budget ended first, which says nothing of the configuration."""

    kind: Literal["budget_ended"] = "budget_ended"
    phase: Phase | None = None
    """In which phase of the run; None where it was already being timed."""
    seconds: float = 0.0
    """What that phase had taken by then."""


class Unsettled(Value):
    """Its throughput did not stabilize."""

    kind: Literal["unsettled"] = "unsettled"
    seconds: float
    """Duration of its training."""


class Overdue(Value):
    """A phase exceeded its time limit."""

    kind: Literal["overdue"] = "overdue"
    phase: Phase
    seconds: float
    """The limit."""


class Killed(Value):
    """A process was killed by a signal."""

    kind: Literal["killed"] = "killed"
    process: str = ""
    """Name of the process, such as `worker 1`; empty if it was the only one."""
    signal: int


class Exited(Value):
    """A process exited without a result."""

    kind: Literal["exited"] = "exited"
    process: str = ""
    code: int


class Orphaned(Value):
    """The parent process of all trials was killed."""

    kind: Literal["orphaned"] = "orphaned"


class HostLost(Value):
    """A host does not answer any more, or its agent was killed."""

    kind: Literal["host_lost"] = "host_lost"
    host: str
    """Its name and address."""
    silent: float | None = None
    """Seconds without an answer; None where its end was told at once."""
    memory: bool = False
    """Whether the cluster ended its agent for want of memory."""


class TooFewHosts(Value):
    """It needs more hosts than are left."""

    kind: Literal["too_few_hosts"] = "too_few_hosts"
    needed: int
    left: int


class Unattended(Value):
    """An agent heard nothing of the tuner, and ended its processes."""

    kind: Literal["unattended"] = "unattended"
    seconds: float


class KernelKilled(Value):
    """The kernel killed a process to free memory."""

    kind: Literal["kernel_killed"] = "kernel_killed"
    process: str = ""


class MemoryExceeded(Value):
    """All processes together held more memory than the limit."""

    kind: Literal["memory_exceeded"] = "memory_exceeded"
    used: int
    """Bytes."""
    limit: int


class Raised(Value):
    """A process raised an exception."""

    kind: Literal["raised"] = "raised"
    process: str = ""
    error: str
    """Class of the exception."""
    message: str
    """The line that says what is wrong."""
    where: str = ""
    """File and line in the user's code, if known."""


class KnownError(Value):
    """A process raised an exception of a known cause."""

    kind: Literal["known_error"] = "known_error"
    process: str = ""
    cause: Cause


class NotFinite(Value):
    """A logged value, such as the loss, became NaN or infinite."""

    kind: Literal["not_finite"] = "not_finite"
    name: str
    value: str
    """`nan`, `inf` or `-inf`."""
    step: int


class FinishedEarly(Value):
    """The training ended before its throughput was measured."""

    kind: Literal["finished_early"] = "finished_early"


class SetAside(Value):
    """It was not run again, because the search's process died while running it."""

    kind: Literal["set_aside"] = "set_aside"
    deaths: int


class AllReduceBound(Value):
    """It cannot win: its all-reduce alone takes too long."""

    kind: Literal["all_reduce_bound"] = "all_reduce_bound"
    seconds: float
    """Lower bound of the all-reduce of one step."""
    global_batch: int
    share: float
    """Upper bound of its throughput, as a share of the best single device's."""


class SharedInputBound(Value):
    """It cannot win: every replica waits for the whole input pipeline."""

    kind: Literal["shared_input_bound"] = "shared_input_bound"
    workers: int
    shard_policy: str
    seconds: float
    """Lower bound of the pipeline's time per example."""
    share: float


class OneDeviceBound(Value):
    """It cannot win: its replicas cannot be faster than as many single devices."""

    kind: Literal["one_device_bound"] = "one_device_bound"
    replicas: int
    per_replica_batch: int
    """Of the single device that bounds it."""
    share: float


class SmallerRanOut(Value):
    """A configuration that needs no more memory ran out of it."""

    kind: Literal["smaller_ran_out"] = "smaller_ran_out"
    trial: int


class StrategyFailed(Value):
    """The strategy failed repeatedly and never succeeded."""

    kind: Literal["strategy_failed"] = "strategy_failed"
    strategy: str
    failures: int
    last: Reason
    """Of the last failure."""


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
    DIVERGED_UNMOVED = "diverged without change"
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
    """It failed certification."""

    kind: Literal["uncertified"] = "uncertified"
    findings: tuple[Seen, ...]
    """What the failed checks saw."""


class Message(Value):
    """Words of an engine that has none of the other kinds to give."""

    kind: Literal["message"] = "message"
    text: str


Proof = AllReduceBound | SharedInputBound | OneDeviceBound
"""Proofs that a configuration cannot win."""
Reason = Annotated[
    Measured
    | Completed
    | Slower
    | BudgetEnded
    | Unsettled
    | Overdue
    | Killed
    | Exited
    | Orphaned
    | HostLost
    | TooFewHosts
    | Unattended
    | KernelKilled
    | MemoryExceeded
    | Raised
    | KnownError
    | NotFinite
    | FinishedEarly
    | SetAside
    | AllReduceBound
    | SharedInputBound
    | OneDeviceBound
    | SmallerRanOut
    | StrategyFailed
    | Uncertified
    | Message,
    Field(discriminator="kind"),
]
"""Any of them; `kind` tells which."""

for _kind in (StrategyFailed, Seen, Uncertified):
    _kind.model_rebuild()


class RuleKind(StrEnum):
    """Why a configuration cannot run."""

    ASYNCHRONOUS = "asynchronous"
    """It trains asynchronously, which nobody has allowed."""
    INDIVISIBLE_BATCH = "indivisible batch"
    OTHER_BATCH = "other batch"
    """It is not the user's own, and what an example teaches there is not known."""
    BATCH_LIMIT = "batch limit"
    DATASET_TOO_SMALL = "dataset too small"
    EPOCH_TOO_SHORT = "epoch too short"
    UNREPEATABLE_CACHE = "unrepeatable cache"
    """The dataset differs in every pass, so a cache behind it would change the training."""
    LATE_CACHE = "late cache"
    """What the dataset factory hands to its parameter `cache` differs in every pass."""
    OWN_CACHE = "own cache"
    """The dataset factory keeps a cache of its own."""
    UNCOUNTED_CACHE = "uncounted cache"
    """The number of examples is unknown, so a cache may never fill."""
    CACHE_TOO_LARGE = "cache too large"
    CACHE_BEYOND_DISK = "cache beyond disk"
    TOO_MANY_THREADS = "too many threads"
    FLOAT16_WITHOUT_GPU = "float16 without gpu"
    ONE_REPLICA = "one replica"
    """It is the same as one device."""
    ALONE = "alone"
    """The script does what Keras cannot do with several workers, in the line of the figure."""
    CARRIED_STATE = "carried state"
    """The model carries state from one batch to the next, which replicas would not see."""
    BUILT_IN_BATCH = "built-in batch"
    """The size of its batches is built into the model."""
    ACCUMULATION = "accumulation"
    """Keras cannot accumulate gradients under several replicas."""
    EAGER = "eager"
    """Eager execution is measured as the user's own, on one device."""
    UNCOMPILABLE = "uncompilable"
    """The model runs eagerly only."""
    OWN_TRAIN_FUNCTION = "own train function"
    """The model's own `make_train_function` is called by `Model.fit` alone."""
    STRATEGY = "strategy"
    """A rule of the strategy's own."""


class Rule(Value):
    """A rule that a configuration breaks."""

    kind: RuleKind
    figure: int | None = None
    """The limit or size that it is about."""
    text: str = ""
    """The words of a strategy for a rule of its own, or the name of what it is about."""
