"""The contract between the search and whatever runs trials.

An engine runs one trial at a time, in fresh processes, and always answers with one of a small set
of outcomes. It knows nothing of statistics: while a trial runs it hands every new list of windows
to a `Watch`, which says when to stop and why. `autotune.testing.contract` holds the test suite
that every engine passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import NamedTuple, Protocol, Self

from autotune.cluster import Role
from autotune.config import Configuration
from autotune.engine.exclusive import Tell
from autotune.engine.load import Load
from autotune.engine.observation import Observation
from autotune.machine import Machine
from autotune.reason import Outcome, Reason
from autotune.stats.gradients import Learning, Unpredictable
from autotune.value import Scalar
from autotune.window import Window
from autotune.workload import Workload, WorkloadFacts

__all__ = [
    "NOTHING",
    "Engine",
    "Fill",
    "LearningRequest",
    "Limits",
    "ObservationRequest",
    "Outcome",
    "RunResult",
    "ScreeningRequest",
    "Setting",
    "Stop",
    "Tell",
    "TrialRequest",
    "Watch",
    "Window",
]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds that each phase may take, and bytes that all processes together may hold."""

    start: float = 120.0
    first_step: float = 180.0
    window: float = 60.0
    """Longest silence between two windows once steps are running."""
    whole: float = math.inf
    """From the start of its processes to their end."""
    memory: int | None = None
    """Resident bytes of the whole trial; None takes most of what is free at its start."""


@dataclass(frozen=True, kw_only=True)
class Fill:
    """Caches to be filled before a training begins, by reading its input alone."""

    examples: int
    """That each process reads: all of an epoch, or as many as its caches are to hold instead."""
    whole: bool = True
    """Whether these are all. Fewer take less time, and later epochs are as fast."""
    seconds: float = 10.0
    """After which the caches are made to hold what was read by then."""


@dataclass(frozen=True, kw_only=True)
class TrialRequest:
    """One run to be made: a program, its processes, and the folder that holds their traces."""

    configuration: Configuration
    script: str
    """Text of the training program; it is run unchanged."""
    workload: Workload
    roles: tuple[Role, ...]
    folder: Path
    """On the caller's host, for logs and traces; it does not exist yet and belongs to the engine
    until the run is over. An engine whose processes run elsewhere copies there what belongs
    there."""
    seed: int = 0
    held: bool = False
    """Whether the program gives every step the same batch, from memory."""
    exchanges: bool = True
    """Whether replicas exchange their gradients. Without, each trains by itself: no training that
    anybody wants, but one that shows what the exchange adds to a step."""
    fill: Fill | None = None
    """What is read before the training; None where nothing is cached."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class ObservationRequest:
    """A program to be run for a few steps, with an observer attached to each of its processes.

    The observer reads some steps of each replica's input, then has the program train on the first
    of them again and again. A reference trains one device on the same batches.
    """

    trial: TrialRequest
    calls: int
    """Calls of the training step."""
    reads: int = 0
    """Steps of input that are read and counted."""
    kept: int = 0
    """Of these, how many the training uses."""
    reference_to: Path | None = None
    """The folder of the run whose batches and first weights this one takes; None for that run."""
    processes: int = 1
    """Processes of that run."""
    counting_seconds: float = 0.0
    """Longest time for counting the whole dataset, in a reference; 0 leaves it out."""
    batched: bool = False
    """Whether the dataset factory batches by itself."""


class Setting(NamedTuple):
    """A configuration to be screened, and the text of its program."""

    configuration: Configuration
    script: str


@dataclass(frozen=True, kw_only=True)
class ScreeningRequest:
    """Settings to be looked at in one process, one after the other.

    They differ only in what a process can change while it runs: the batch, the steps of a call, and
    the input. So the training step is traced once, for a batch of any size. That is not the program
    that is handed over, and what is timed here decides nothing.
    """

    trial: TrialRequest
    """The first of them, and the process that is started for all."""
    settings: tuple[Setting, ...]
    """In the order in which they are timed; one may come again."""


@dataclass(frozen=True, kw_only=True)
class LearningRequest:
    """A training whose gradients are to be looked at, at the user's own batch.

    What was found when the trial's whole limit ends it counts.
    """

    trial: TrialRequest
    """Of one device, with one step for each call."""
    seconds: float = 10.0
    """For training and looking together, once training has begun."""


class Stop(NamedTuple):
    """A watch's order to end a trial."""

    outcome: Outcome
    reason: Reason


Watch = Callable[[Sequence[Window]], Stop | None]
"""Called with all windows so far, oldest first, each time there is a new one. None: go on."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What became of one run."""

    outcome: Outcome
    reason: Reason
    windows: tuple[Window, ...] = ()
    """Windows of the first worker, warm-up included, oldest first."""
    start_seconds: float | None = None
    """From the request to the beginning of training; None if it was not reached."""
    first_step_seconds: float | None = None
    """Duration of the first call, which compiles; None if it was not reached."""
    filled: int | None = None
    """Examples that the caches of the first process held when training began: fewer than it was
    asked for where there was no time, 0 where they could not be filled, None where nothing was
    asked."""
    lost_updates: float | None = None
    """Share that the optimizer's counter of updates lost; None where replicas wait for each
    other."""
    wall_seconds: float = 0.0
    """From the request until nothing was left of it."""
    peak_memory: int = 0
    """Largest sum of resident bytes over all its processes, as sampled."""
    work_seconds: tuple[float, ...] = ()
    """Core seconds that each worker used for a step; empty where they did not all say."""
    step_seconds: tuple[float, ...] = ()
    """Seconds of a step of each worker, likewise; they differ where workers do not wait."""
    callback_seconds: tuple[tuple[str, float], ...] = ()
    """Each callback of the first worker with its seconds of a step, the heaviest first."""
    detail: str = ""
    """The last lines of what it printed, where that explains the outcome."""


NOTHING: Mapping[str, Scalar] = MappingProxyType({})


class Engine(Protocol):
    """Runs trials. Used by one thread at a time; a context manager that owns its processes.

    Entering it starts in the background what its first call would wait for. An engine that derives
    from this class gets the defaults: nobody to wait for, a load and a network that nobody can
    tell, nothing to start, and no screening.
    """

    keeps_history: bool = True
    """Whether its timings are those of a real machine, so that later searches on an equal one may
    start from them."""

    def reserved(
        self, what: str, tell: Tell, seconds: float | None = None
    ) -> AbstractContextManager[None]:
        """Wait until nobody else is timing on this engine's hosts, then keep others waiting.

        Whoever has reserved an engine may reserve it again.

        Args:
            what: Names this search to those that wait for it.
            tell: Is told at once whom it waits for, and again now and then. An error that it
                raises ends the wait.
            seconds: The search's budget, which tells others how long they wait; None if it has
                none.

        Raises:
            Interrupted: Ctrl-C was pressed while waiting.
            UsageError: This thread is timing there already, on another engine.
        """
        del what, tell, seconds
        return nullcontext()

    def load(self) -> Load | None:
        """Return what other programs have taken of the cores since the last call.

        None at the first call, and where nobody can tell.
        """
        return None

    def bandwidth(self) -> float | None:
        """Return the bytes per second that one of its hosts can send to another.

        None where there is but one, and where nobody can tell.
        """
        return None

    def lost_hosts(self) -> tuple[str, ...]:
        """Return which of its machine's hosts were lost and will not come back."""
        return ()

    def machine(self) -> Machine:
        """Return what this engine's trials run on.

        Raises:
            EngineError: It cannot run anything at all.
        """

    def inspect(
        self,
        workload: Workload,
        *,
        offered: Mapping[str, Scalar] = NOTHING,
        seconds: float = 60.0,
    ) -> WorkloadFacts:
        """Call the factories in a process of their own and report what they give.

        Args:
            workload: The factories.
            offered: Values for parameters that a factory may declare: one of each own axis.
            seconds: Longest time that the model or the first examples may take.

        Raises:
            WorkloadError: A factory does not fulfil its contract; the text says what to do.
        """

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run one trial until its watch stops it or something goes wrong.

        Never raises because of the trial. When it returns, or raises `KeyboardInterrupt`,
        nothing of the trial is left running.
        """

    def observe(self, request: ObservationRequest) -> Observation:
        """Run a program for a few steps and report what its replicas read and how they trained.

        Like `run`, it never raises because of the program and leaves nothing running.
        """

    def screen(self, request: ScreeningRequest, watch: Watch) -> RunResult | None:
        """Time settings in turn within one process, briefly.

        Like `run`, it never raises because of the program and leaves nothing running. The windows
        of the result, and those that the watch sees, are one for each setting in their order; one
        without steps could not be timed. What was timed before a failure counts.

        Returns:
            None if this engine does not offer it.
        """
        del request, watch
        return None

    def learn(self, request: LearningRequest) -> Learning:
        """Train for a while and tell what an example teaches at other batch sizes.

        Like `run`, it never raises because of the program and leaves nothing running.
        """
        batch = request.trial.configuration.global_batch
        return Learning(batch=batch, refused=Unpredictable.NOT_OFFERED)

    def now(self) -> float:
        """Return the engine's clock in seconds; only differences mean anything."""

    def close(self) -> None:
        """End everything that this engine started; may be called twice."""

    def __enter__(self) -> Self:
        """Return the engine."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the engine."""
        self.close()
