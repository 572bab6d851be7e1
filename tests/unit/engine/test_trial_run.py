"""A run of a training, followed without any process, and errors read as reasons."""

import os
from collections.abc import Mapping, Sequence

import pytest

from autotune.engine import events
from autotune.engine.base import Limits, RunResult, Stop
from autotune.engine.trial_run import (
    GRACE,
    Ending,
    Exit,
    MemoryUse,
    Report,
    TrialRun,
    Trouble,
    Watchdog,
    WorkerGroup,
    WorkersLost,
    WorkerSteps,
    exit_of,
    explain,
    is_consequence,
    is_memory,
    root_cause,
)
from autotune.reason import (
    KernelKilled,
    Killed,
    KnownError,
    Message,
    Outcome,
    Overdue,
    Phase,
    PlainReason,
    Raised,
    ReasonKind,
)
from autotune.reason.sentences import death, reason_text
from autotune.shared_values import Window
from autotune.strategies import Role

ENOUGH = Stop(Outcome.MEASURED, PlainReason(kind=ReasonKind.MEASURED))
LIMITS = Limits(start=10, first_step=20, window=5, whole=40)
TRAINING = [("train_begin", {}), ("first_step", {"seconds": 0.5})]


class Scripted(WorkerGroup):
    """Two workers that report what a test says, and then die or hold too much as it says."""

    def __init__(self, *told: tuple[str, dict[str, object]], **later: object) -> None:
        self._told = [Report(0, {"event": kind, "at": 1e12, **data}) for kind, data in told]
        self._later = later
        self.ended = False

    def start(self) -> None:
        """Start nothing."""

    def listen(self, seconds: float) -> list[Report]:
        del seconds
        if not self._told and "lost" in self._later:
            raise WorkersLost(PlainReason(kind=ReasonKind.ORPHANED))
        told, self._told = self._told[:1], self._told[1:]
        return told

    def exits(self) -> Mapping[int, Exit]:
        found = self._later.get("exit")
        return {1: found} if found and not self._told else {}

    def memory(self) -> MemoryUse:
        return MemoryUse(9, 8, exceeded="large" in self._later and not self._told)

    def last_words(self, member: int, *, stack: bool = False) -> str:
        return f"{'stack' if stack else 'words'} of {member}"

    def end(self) -> None:
        self.ended = True


def run(group: Scripted) -> RunResult:
    def enough(windows: Sequence[Window]) -> Stop | None:
        return ENOUGH if len(windows) == 2 else None

    result = TrialRun((Role(index=0), Role(index=1)), Limits(), group, enough).run()
    assert group.ended
    return result


def test_a_run_ends_when_its_watch_has_seen_enough() -> None:
    """The group needs no process, and is ended with the run."""
    window = ("window", {"steps": 10, "seconds": 1.0})
    result = run(Scripted(*TRAINING, window, window, window))
    assert (result.outcome, result.reason) == ENOUGH
    assert result.windows == (Window(10, 1.0),) * 2
    assert result.first_step_seconds == 0.5
    assert result.peak_memory == 9


def test_an_observed_run_ends_when_all_workers_have_answered() -> None:
    """They need not see each other's files."""
    group = Scripted(*TRAINING, ("answered", {}))
    group._told.append(Report(1, {"event": "answered", "at": 1e12}))
    result = run(group)
    completed = PlainReason(kind=ReasonKind.COMPLETED)
    assert (result.outcome, result.reason) == (Outcome.MEASURED, completed)


@pytest.mark.parametrize(
    ("later", "outcome", "words"),
    [
        ({"exit": Killed(signal=9)}, Outcome.CRASHED, "worker 1 was killed by SIGKILL"),
        ({"exit": KernelKilled()}, Outcome.OUT_OF_MEMORY, "worker 1"),
        ({"lost": True}, Outcome.CRASHED, "parent process"),
        ({"large": True}, Outcome.OUT_OF_MEMORY, "memory"),
    ],
)
def test_a_run_ends_with_what_becomes_of_its_workers(
    later: dict[str, object], outcome: Outcome, words: str
) -> None:
    """An exit names the worker, whatever the group is."""
    result = run(Scripted(*TRAINING, **later))
    assert result.outcome is outcome
    assert words.lower() in reason_text(result.reason).lower()


FIRST = Trouble(at=1, ending=Ending(Outcome.FAILED, Message(text="first")))
LATER = Trouble(at=2, ending=Ending(Outcome.FAILED, Message(text="later")))
SOCKET = Trouble(at=0, ending=Ending(Outcome.FAILED, Message(text="socket")), consequence=True)


@pytest.mark.parametrize(
    ("troubles", "now", "told"),
    [
        ((), 5.0, None),
        ((LATER, FIRST), 2.0, FIRST),
        ((SOCKET, LATER), 2.0, LATER),
        ((SOCKET,), GRACE / 2, None),
        ((SOCKET,), 2 * GRACE, SOCKET),
    ],
    ids=["none", "the first", "a cause before consequences", "waits", "nothing better"],
)
def test_the_root_cause_is_told(
    troubles: tuple[Trouble, ...], now: float, told: Trouble | None
) -> None:
    """The earliest one; what only tells that another has gone waits a while for its cause."""
    assert root_cause(troubles, now) == (told and told.ending)


def after(*events: tuple[str, float]) -> Watchdog:
    dog = Watchdog(LIMITS, begun=100.0)
    for event, at in events:
        dog.note({"event": event, "at": at})
    return dog


@pytest.mark.parametrize(
    ("dog", "phase", "last_moment", "words"),
    [
        (after(), Phase.START, 110, "had not begun after 10 s"),
        (after(("started", 101)), Phase.START, 110, "start"),
        (after(("train_begin", 104)), Phase.FIRST_STEP, 124, "not finished after 20 s"),
        (after(("train_begin", 104), ("first_step", 110)), Phase.STEADY, 115, "for 5 s"),
        (after(("first_step", 110), ("window", 112)), Phase.STEADY, 117, "for 5 s"),
    ],
)
def test_phases_and_their_limits(
    dog: Watchdog, phase: Phase, last_moment: float, words: str
) -> None:
    """A phase begins with its event, and is overdue just after its limit."""
    assert dog.phase is phase
    assert dog.overdue(last_moment) is None
    overdue = dog.overdue(last_moment + 0.001)
    assert overdue.phase is phase
    assert words in reason_text(overdue)
    assert reason_text(overdue).endswith(".")


def test_all_phases_together_have_a_limit() -> None:
    """A run that goes on well is overdue all the same."""
    dog = after(("first_step", 110), ("window", 138))
    assert dog.overdue(140) is None
    assert dog.overdue(140.001) == Overdue(phase=Phase.WHOLE, seconds=40)


def window_of(steps: int, seconds: float) -> dict[str, object]:
    return {"event": events.WINDOW, "at": 0.0, "steps": steps, "seconds": seconds}


def test_a_step_of_each_worker_is_of_the_later_half() -> None:
    """The warm-up, which compiles, does not count."""
    steps = WorkerSteps(2)
    for member, later in ((0, 1.0), (1, 3.0)):
        steps.note(member, window_of(10, 99.0))
        steps.note(member, window_of(10, later))
    assert steps.each() == pytest.approx((0.1, 0.3))


def test_who_says_nothing_is_not_guessed() -> None:
    steps = WorkerSteps(2)
    steps.note(0, window_of(10, 1.0))
    steps.note(1, {"event": events.STARTED, "at": 0.0})
    assert steps.each() == ()


COMPILED = "Collectives are not yet implemented for CPU devices when compiling with XLA"


def error(kind: str, message: str, where: str = "") -> dict[str, str]:
    return {"kind": kind, "message": message, "where": where}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("the dataset only has 1 file(s), which is not", "fewer files"),
        (COMPILED, "turn xla off"),
        ("Trying to access resource k/65 located in device 1 from device 0", "several CPU devices"),
        ("Cond():\n`merge_call` called while defining a new graph", "apply them in every step"),
        ("Could not start gRPC server", "port"),
        ("Please provide a TPU Name to connect to.", "No TPU"),
    ],
)
def test_known_errors_have_a_sentence_and_a_next_step(message: str, words: str) -> None:
    """What TensorFlow is known to say is said in plain words, whatever the kind of its error."""
    reason = explain(error("InvalidArgumentError", message))
    assert isinstance(reason, KnownError)
    sentence = reason_text(reason)
    assert words in sentence
    assert sentence.endswith(".")
    assert ": " in sentence


@pytest.mark.parametrize(
    ("message", "gist"),
    [
        ("one\ntwo", "one"),
        ("", "(no message)"),
        ("in user code:\n\n    File x, line 2\n\n    ValueError: odd\n", "ValueError: odd"),
        ("in user code:\n\n    File x, line 2\n\n    TypeError: odd\n", "odd"),
        ("Exception encountered when calling Dense.call().\n\n\x1b[1mbad\x1b[0m\n\nArgs", "bad"),
    ],
)
def test_other_errors_are_quoted(message: str, gist: str) -> None:
    reason = explain(error("TypeError", message, "a.py line 3"))
    assert reason == Raised(error="TypeError", message=gist, where="a.py line 3")
    assert reason_text(reason) == f"TypeError: {gist} (a.py line 3)"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("MemoryError", ""),
        ("ResourceExhaustedError", "OOM when allocating tensor with shape[9]"),
        ("_ArrayMemoryError", "Unable to allocate 9. GiB"),
        ("InternalError", "Dst tensor is not initialized. [Op:_EagerConst]"),
        ("InternalError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."),
        ("InternalError", "failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED"),
    ],
)
def test_want_of_memory_is_seen(kind: str, message: str) -> None:
    assert is_memory(error(kind, message))
    assert not is_memory(error("ValueError", "MemoryErrors are bad"))


@pytest.mark.parametrize(
    "message", ["/data/cache.index; No space left on device", "/home/me/x; Disk quota exceeded"]
)
def test_a_full_disk_is_no_want_of_memory(message: str) -> None:
    """TensorFlow raises the same error for both."""
    assert not is_memory(error("ResourceExhaustedError", message))
    assert message in reason_text(explain(error("ResourceExhaustedError", message)))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("UnavailableError", "Collective ops is aborted by: Socket closed"),
        ("CancelledError", "RPC cancelled"),
        ("DeadlineExceededError", "RPC: /tensorflow.CoordinationService/Heartbeat"),
        ("InternalError", "RecvFromRemoteAsync is cancelled. [Op:Identity] name: "),
    ],
)
def test_consequences_are_told_from_causes(kind: str, message: str) -> None:
    """What a worker says when another has gone is no cause."""
    assert is_consequence(error(kind, message))
    assert not is_consequence(error("ValueError", "the labels are upside down"))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (9, "was killed by SIGKILL"),
        (6 | 0x80, "was killed by SIGABRT"),
        (3 << 8, "exited with code 3 without a result"),
        (
            os.EX_IOERR << 8,
            "could not write its files: the disk is full or read-only, or the folder is gone",
        ),
        (126, "was killed by signal 126"),
    ],
)
def test_wait_statuses_in_words(status: int, words: str) -> None:
    assert death(exit_of(status)) == words


def test_a_kill_for_memory_is_the_kernels() -> None:
    """SIGKILL is, where the kernel has freed memory meanwhile; no other signal."""
    assert exit_of(9, for_memory=True) == KernelKilled()
    assert exit_of(6, for_memory=True) == Killed(signal=6)
