"""One run of a training: the worker processes, what they report, and why it ended.

A group starts the processes of one run together, hands on what they report, and ends them together.
On which host a process is, and how it was started, only the group knows. Errors and wait statuses
of processes are read as reasons; the run ends by the first that is no consequence of another one.
"""

import re
import signal
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from autotune.engine import events
from autotune.engine.base import Limits, RunResult, Watch, go_on
from autotune.engine.events import Event
from autotune.reason import (
    Cause,
    Exited,
    KernelKilled,
    Killed,
    KnownError,
    Outcome,
    Overdue,
    Phase,
    PlainReason,
    Raised,
    Reason,
    ReasonKind,
)
from autotune.shared_values import Window
from autotune.strategies import Role

POLL = 0.02
"""Seconds between two queries for what is reported. A local one costs some 50 microseconds."""
Exit = Killed | Exited | KernelKilled
"""How a worker process ended; its name is left to the caller, which knows the roles."""
Environment = Mapping[str, str | None]
"""Variables of a process; None removes one."""


class Report(NamedTuple):
    """An event, and the position of the process that reported it."""

    member: int
    event: Event


class MemoryUse(NamedTuple):
    """How much memory the processes of a group hold."""

    peak: int
    """Largest sum of resident bytes so far."""
    limit: int
    exceeded: bool


class WorkerGroup(Protocol):
    """The worker processes of one run. Their positions are those of the run's roles."""

    def start(self) -> None:
        """Start all processes.

        Raises:
            EngineError: The system refuses another process.
            WorkersLost: The host that should start them is gone.
        """

    def listen(self, seconds: float) -> list[Report]:
        """Return what was reported since the last call.

        The times in the events are those of the caller's monotonic clock.

        Args:
            seconds: Longest wait for the end of a process.

        Raises:
            WorkersLost: All processes are gone or out of reach.
        """

    def exits(self) -> Mapping[int, Exit]:
        """Return how each process ended that is gone, by position."""

    def memory(self) -> MemoryUse:
        """Return what the processes hold, with a new sample if it is time for one."""

    def last_words(self, member: int, *, stack: bool = False) -> str:
        """Return the last lines that a process printed.

        Args:
            stack: Have it print first where its threads stand.
        """

    def end(self) -> None:
        """End all processes and what they started, and wait until nothing is left.

        What they left for the caller is in the run's folder then. May be called before `start`.
        """


GRACE = 1.0
"""Seconds for the real cause to show itself, once a process has reported its consequences."""
EARLY = 0.5
"""Share of the windows that may still belong to the warm-up."""
_MOST_STACKS = 4
_PHASE_AFTER = {
    events.DOING: Phase.STEADY,
    events.TRAIN_BEGIN: Phase.FIRST_STEP,
    events.FIRST_STEP: Phase.STEADY,
    events.WINDOW: Phase.STEADY,
}


class Ending(NamedTuple):
    outcome: Outcome
    reason: Reason
    detail: str = ""


class Trouble(NamedTuple):
    """An error that a process reported, or its unexpected end."""

    at: float
    ending: Ending
    consequence: bool = False
    """Whether it only tells that another process has gone."""


class TrialRun:
    """Follows a group of worker processes and keeps what becomes of it."""

    def __init__(
        self, roles: Sequence[Role], limits: Limits, group: WorkerGroup, watch: Watch = go_on
    ) -> None:
        self._roles = roles
        self._group = group
        self._watch = watch
        self._begun = time.monotonic()
        self._watchdog = Watchdog(limits, self._begun)
        self._troubles: dict[int, Trouble] = {}
        self._windows: list[Window] = []
        self._steps = WorkerSteps(len(roles))
        self._answered: set[int] = set()
        self._reported: dict[str, object] = {}

    def run(self) -> RunResult:
        ending = None
        try:
            self._group.start()
            while ending is None:
                ending = self._hear(self._group.listen(POLL)) or self._check()
        except WorkersLost as exc:
            ending = Ending(Outcome.CRASHED, exc.reason)
        finally:
            self._group.end()
        return self._result(ending)

    def _hear(self, reports: list[Report]) -> Ending | None:
        for member, event in sorted(reports, key=lambda report: report.event["at"]):
            if ending := self._take(member, event):
                return ending
        everybody = len(self._answered) == len(self._roles)
        return (
            Ending(Outcome.MEASURED, PlainReason(kind=ReasonKind.COMPLETED)) if everybody else None
        )

    def _take(self, member: int, event: Event) -> Ending | None:
        self._steps.note(member, event)
        match event["event"]:
            case events.ERROR:
                outcome = Outcome.OUT_OF_MEMORY if is_memory(event) else Outcome.FAILED
                cause = explain(event, self._name(member))
                ending = Ending(outcome, cause, event["detail"])
                late = is_consequence(event)
                self._troubles[member] = Trouble(event["at"], ending, consequence=late)
            case events.FINISHED:
                words = self._group.last_words(member)
                ending = Ending(Outcome.FAILED, PlainReason(kind=ReasonKind.FINISHED_EARLY), words)
                self._troubles[member] = Trouble(at=event["at"], ending=ending)
            case events.ANSWERED:
                self._answered.add(member)
            case events.NAN:
                reason = PlainReason(
                    kind=ReasonKind.NOT_FINITE,
                    name=event["name"],
                    value=event["value"],
                    step=event["step"],
                )
                return Ending(Outcome.FAILED, reason)
        return self._progress(event) if member == 0 else None

    def _check(self) -> Ending | None:
        """See what the processes cannot report themselves."""
        for member, found in self._group.exits().items():
            if member not in self._troubles:
                self._troubles[member] = self._death(member, found)
        now = time.monotonic()
        if cause := root_cause(self._troubles.values(), now):
            return cause
        if overdue := self._watchdog.overdue(now):
            members = range(min(len(self._roles), _MOST_STACKS))
            words = (self._group.last_words(each, stack=True) for each in members)
            stacks = (f"{self._name(i)}: {text}" for i, text in enumerate(words))
            detail = "\n".join(each.removeprefix(": ") for each in stacks)
            return Ending(Outcome.HUNG, overdue, detail)
        used = self._group.memory()
        if used.exceeded:
            reason = PlainReason(kind=ReasonKind.MEMORY_EXCEEDED, used=used.peak, limit=used.limit)
            return Ending(Outcome.OUT_OF_MEMORY, reason)
        return None

    def _progress(self, event: Event) -> Ending | None:
        """Take in what the first process, which speaks for all, says of its steps."""
        self._watchdog.note(event)
        self._reported |= event.get("result", {})
        match event["event"]:
            case events.TRAIN_BEGIN:
                self._reported["start_seconds"] = event["at"] - self._begun
            case events.FIRST_STEP:
                self._reported["first_step_seconds"] = event["seconds"]
            case events.DOING:
                self._reported["doing"] = event["what"]
            case events.WINDOW:
                self._windows.append(Window(event["steps"], event["seconds"], event.get("ends", 0)))
                stop = self._watch(tuple(self._windows))
                return stop and Ending(*stop)
        return None

    def _death(self, member: int, found: Exit) -> Trouble:
        reason = found.model_copy(update={"process": self._name(member)})
        if isinstance(reason, KernelKilled):
            ending = Ending(Outcome.OUT_OF_MEMORY, reason)
        else:
            ending = Ending(Outcome.CRASHED, reason, self._group.last_words(member))
        return Trouble(at=time.monotonic(), ending=ending)

    def _result(self, ending: Ending) -> RunResult:
        """Return the run: what its first process reported, and what was seen from outside."""
        seen = {
            **ending._asdict(),
            "windows": self._windows,
            "peak_memory": self._group.memory().peak,
            "step_seconds": self._steps.each(),
            "callback_seconds": self._steps.callbacks(),
        }
        return RunResult.model_validate({**self._reported, **seen})

    def _name(self, member: int) -> str:
        return self._roles[member].name if len(self._roles) > 1 else ""


class Watchdog:
    """Knows in which phase a process is, and since when."""

    def __init__(self, limits: Limits, begun: float) -> None:
        self._limits = limits
        self._begun = self._since = begun
        self.phase = Phase.START

    def note(self, event: Event) -> None:
        if event["event"] in _PHASE_AFTER:
            self.phase = _PHASE_AFTER[event["event"]]
            self._since = event["at"]

    def overdue(self, now: float) -> Overdue | None:
        seconds = {
            Phase.START: self._limits.start,
            Phase.FIRST_STEP: self._limits.first_step,
            Phase.STEADY: self._limits.window,
        }[self.phase]
        if now - self._since > seconds:
            return Overdue(phase=self.phase, seconds=seconds)
        if now - self._begun > self._limits.whole:
            return Overdue(phase=Phase.WHOLE, seconds=self._limits.whole)
        return None


class WorkerSteps:
    """Keeps what each worker reports of its steps: the slowest one keeps the others waiting."""

    def __init__(self, members: int) -> None:
        self._windows: list[list[Event]] = [[] for _ in range(members)]

    def note(self, member: int, event: Event) -> None:
        if event["event"] == events.WINDOW:
            self._windows[member].append(event)

    def each(self) -> tuple[float, ...]:
        """Return the seconds of a step of each process; empty if one did not say."""
        late = [each[int(len(each) * EARLY) :] for each in self._windows]
        if not all(late):
            return ()
        return tuple(
            sum(w["seconds"] for w in each) / sum(w["steps"] for w in each) for each in late
        )

    def callbacks(self) -> tuple[tuple[str, float], ...]:
        """Return what each callback of the first process takes of a step, the heaviest first."""
        late = self._windows[0][int(len(self._windows[0]) * EARLY) :]
        steps, seconds = sum(each["steps"] for each in late), Counter[str]()
        for each in late:
            seconds.update(each.get("callbacks", {}))
        return tuple((name, taken / steps) for name, taken in seconds.most_common())


def root_cause(troubles: Iterable[Trouble], now: float) -> Ending | None:
    """Return the ending that the first real trouble means; None while it may yet show itself."""
    first = min(troubles, key=lambda each: (each.consequence, each.at), default=None)
    if first is None or (first.consequence and now - first.at <= GRACE):
        return None
    return first.ending


_LONGEST = 300
"""Characters of a foreign message that are kept."""

_KNOWN: Mapping[str, Cause] = {
    r"Could not apply FILE based sharding|the dataset only has \d+ file": Cause.TOO_FEW_FILES,
    r"Collectives are not yet implemented for CPU devices when compiling with XLA": (
        Cause.XLA_COLLECTIVES
    ),
    r"known_issues#tfvariable_on_a_different_device|resource .* located in device .* from device": (
        Cause.XLA_VARIABLES
    ),
    r"Could not start gRPC server": Cause.PORT_TAKEN,
    r"Please provide a TPU Name": Cause.NO_TPU,
    r"`merge_call` called while defining a new graph": Cause.UPDATE_IN_CONDITION,
    r"is not divisible by `num_replicas_in_sync`": Cause.INDIVISIBLE_BATCH,
    r"Cannot batch tensors with different shapes|MaybeMoveContiguousSlices cannot perform copy": (
        Cause.UNEQUAL_EXAMPLES
    ),
    r"Collective has timed out during execution|stopped sending heartbeats": Cause.WORKER_SILENT,
}
_CONSEQUENCES = re.compile(
    r"Collective ops is aborted|Socket closed|Connection (refused|reset)|UnavailableError"
    r"|failed to connect to all addresses|stopped sending heartbeats|Heartbeat"
    r"|Cancelled|CancelledError|AbortedError|Shutdown barrier|recv'd status"
    r"|RecvFromRemoteAsync is cancelled"
)
_MEMORY = re.compile(
    r"^MemoryError|^ResourceExhaustedError|OOM when allocating|_ArrayMemoryError"
    r"|[Cc]annot allocate memory|[Ff]ailed to allocate memory|CUDA_ERROR_OUT_OF_MEMORY"
    r"|CU(DNN|BLAS)_STATUS_ALLOC_FAILED|Out of memory while trying to allocate"
    r"|Dst tensor is not initialized|Cuda failure.*out of memory|std::bad_alloc"
)
_DISK = re.compile(r"No space left on device|Disk quota exceeded")
_NOISE = re.compile(r"\x1b\[[0-9;]*m| with name 'None'")
"""Colours, and how Keras names an input without a name."""


class WorkersLost(Exception):
    """All processes of a group are gone or out of reach."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.kind)
        self.reason = reason


def explain(error: Mapping[str, Any], process: str = "") -> KnownError | Raised:
    text = _text(error)
    for pattern, cause in _KNOWN.items():
        if re.search(pattern, text):
            return KnownError(process=process, cause=cause)
    return Raised(
        process=process,
        error=error["kind"],
        # AutoGraph puts the class before the message of an error that it passes on.
        message=_gist(error["message"]).removeprefix(f"{error['kind']}: "),
        where=error.get("where") or "",
    )


def is_memory(error: Mapping[str, Any]) -> bool:
    """Whether an error says that memory ran out; TensorFlow calls a full disk by the same name."""
    return bool(_MEMORY.search(_text(error))) and not is_of_the_disk(error)


def is_of_the_disk(error: Mapping[str, Any]) -> bool:
    return bool(_DISK.search(_text(error)))


def is_consequence(error: Mapping[str, Any]) -> bool:
    """Whether an error only tells that another worker has gone."""
    return bool(_CONSEQUENCES.search(_text(error)))


def exit_of(status: int, *, for_memory: bool = False) -> Killed | Exited | KernelKilled:
    """Return how a process ended, perhaps by the kernel for want of memory."""
    code = status & 0x7F
    if code == signal.SIGKILL and for_memory:
        return KernelKilled()
    return Killed(signal=code) if code else Exited(code=status >> 8)


def _text(error: Mapping[str, Any]) -> str:
    return f"{error['kind']}: {error['message']}"


def _gist(message: str) -> str:
    """Return the line of a message that says what is wrong."""
    lines = [line.strip() for line in _NOISE.sub("", message).splitlines() if line.strip()]
    first = lines[0] if lines else "(no message)"
    if first.startswith("in user code"):
        first = lines[-1]  # AutoGraph puts the frames first and the error last.
    elif first.startswith("Exception encountered when calling") and len(lines) > 1:
        first = lines[1]
    return first[:_LONGEST]
