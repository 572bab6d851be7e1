"""The contract between the search, which asks for tasks, and the processes that do them.

An engine executes one task at a time, in fresh processes, and always gives an answer. It knows
nothing of statistics: while a training runs it hands every new list of windows to a `Watch`, which
says when to stop and why. `tests/engines/contract.py` holds the tests that every engine passes.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from pydantic import Field

from autotune.base import Value
from autotune.engine.events import TrialFolder
from autotune.engine.load import Load
from autotune.engine.lock import Notify
from autotune.machine import Machine
from autotune.reason import Outcome, Reason
from autotune.shared_values import Window
from autotune.workload import Workload

A = TypeVar("A")


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


class Stop(NamedTuple):
    """A watch's order to end a trial."""

    outcome: Outcome
    reason: Reason


Watch = Callable[[Sequence[Window]], Stop | None]
"""Called with all windows so far, oldest first, each time there is a new one. None: go on."""


def go_on(_: Sequence[Window]) -> Stop | None:
    """Watch without ending anything."""
    return None


class RunResult(Value):
    """The end of one run of processes, of which the first one may report any field."""

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
    asked for where there was no time, 0 where they could not be filled, so that later epochs may be
    faster, None where nothing is cached."""
    wall_seconds: float = 0.0
    """From the request until nothing was left of it."""
    peak_memory: int = 0
    """Largest sum of resident bytes over all its processes, as sampled."""
    step_seconds: tuple[float, ...] = ()
    """Seconds of a step of each worker, which differ where workers do not wait; empty where not all
    of them said."""
    callback_seconds: tuple[tuple[str, float], ...] = ()
    """Each callback of the first worker with its seconds of a step, the heaviest first."""
    detail: str = ""
    """The last lines of what it printed, where that explains the outcome."""
    doing: str = Field(default="", exclude=True)
    """What the first process said last that it was doing."""


class Task(ABC, Generic[A]):
    """A task for an engine: a request, the code that does it, and its answer.

    Those that there are stand in `autotune.engine.tasks`. Their code lies apart, because it is
    imported by the child only: it may import TensorFlow, and should not import pydantic.
    """

    code: ClassVar[str]
    """What runs in each of its processes: `module:function`, which is given a `Member`."""
    workload: Workload | None = None
    """Whose code its processes run."""

    @abstractmethod
    def payload(self) -> Mapping[str, Any]:
        """Return what its processes read beside their code, as JSON."""

    def prepare(self, folder: TrialFolder) -> None:
        """Write what its processes read: the request, and factories that are shipped by value."""
        request = {**self.payload(), "code": self.code}
        folder.request.write_text(json.dumps(request), encoding="utf-8")
        factories = self.workload.factories if self.workload else {}
        for name, each in factories.items():
            if each.pickled:
                folder.pickled(name).write_bytes(each.pickled)

    @abstractmethod
    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> A:
        """Return what is made of the end of its processes.

        Args:
            result: How they ended; also of a task that is refused without running.
            answers: What each of them left, as JSON; empty if any left nothing.
        """

    def not_offered(self) -> A:
        """Return the answer of an engine that cannot do this."""
        raise NotImplementedError(type(self).__name__)


class HostTask(Task[A]):
    """A task for one process on each host, which trains nothing that counts."""

    @property
    @abstractmethod
    def limits(self) -> Limits: ...

    def together(self, answers: Mapping[Any, A]) -> A:
        """Return the answer of all hosts, each with its name and `address`; one may be enough."""
        return next(iter(answers.values()))


class Engine(ABC):
    """Executes tasks. Used by one thread at a time; a context manager that owns its processes.

    Entering it starts in the background what its first call would wait for. An engine that derives
    from this class gets the defaults: no other search to wait for, an unknown load and
    bandwidth, and nothing to start.
    """

    @abstractmethod
    def machine(self) -> Machine:
        """Return what this engine's trials run on.

        Raises:
            EngineError: It cannot run anything at all.
        """

    @abstractmethod
    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        """Do what is asked until it is done, the watch stops it, or something goes wrong.

        Never raises because of a training, whose answer says what became of it. When it returns,
        or raises `KeyboardInterrupt`, nothing of the task is left running.

        Raises:
            WorkloadError: Only of an inspection: a factory does not fulfil its contract.
        """

    def reserved(
        self, what: str, notify: Notify, seconds: float | None = None
    ) -> AbstractContextManager[None]:
        """Wait until no other search is timing on this engine's hosts, then keep others waiting.

        A reservation may be made again inside itself.

        Args:
            what: Names this search to those that wait for it.
            notify: Is called at once with the search it waits for, and again at times. An error
                that it raises ends the wait.
            seconds: The search's budget, which tells others how long they wait; None if it has
                none.

        Raises:
            Interrupted: Ctrl-C was pressed while waiting.
            UsageError: This thread is timing there already, on another engine.
        """
        del what, notify, seconds
        return nullcontext()

    def load(self) -> Load | None:
        """Return what other programs have taken of the cores since the last call.

        None at the first call, and where it is unknown.
        """
        return None

    def bandwidth(self) -> float | None:
        """Return the bytes per second that one of its hosts can send to another.

        None where there is but one, and where it is unknown.
        """
        return None

    def lost_hosts(self) -> tuple[str, ...]:
        """Return which of its machine's hosts were lost and will not come back."""
        return ()

    @abstractmethod
    def now(self) -> float:
        """Return the engine's clock in seconds; only differences mean anything."""

    @abstractmethod
    def close(self) -> None:
        """End everything that this engine started; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
