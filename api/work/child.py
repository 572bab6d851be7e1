"""The process that runs one attempt's search, and its messages to its worker, as lines of JSON.

It is started with the worker's process id, with which it dies, and a descriptor for messages. It
does nothing before it has read its order, so that it never runs without being recorded. The events
of the search are messages as they are.
"""

import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field, TypeAdapter

from autotune import events
from autotune.api.isolation import Isolation
from autotune.api.values import AttemptReport
from autotune.api.work import processes
from autotune.base import Scalar, Value
from autotune.config import Configuration
from autotune.disk import is_of_the_disk
from autotune.engine.base import A, Engine, RunResult, Task, Watch, go_on
from autotune.engine.lock import Wait
from autotune.engine.resolve import Interruptible, new_engine
from autotune.engine.tasks import trial_in
from autotune.errors import AutotuneError, EngineError, Interrupted, OutputError
from autotune.face import Face, shown_by
from autotune.options import SearchOptions
from autotune.reason import Outcome, PlainReason, ReasonKind
from autotune.result import Result
from autotune.search.setup import TuningRequest
from autotune.space import Space
from autotune.trial import Trial
from autotune.tuning import workload_of
from autotune.wire.errors import causes
from autotune.workload import Workload, script_from_text, script_workload

BUSY = "Another search uses the machine, and this one begins after it."
"""In place of the engine's own notice, which is for the user of the machine."""
STUDY = "job"
"""Name of the study of every job; each is in a database of its own."""
MOST_DEATHS = 2
"""A configuration during which a worker died so often is not run again."""
UNUSABLE = "The service's disk or database is unavailable; contact the operator."
ODD = (
    "What the search reports cannot be read: its program has written into the search's own channel."
)
NO_ENGINE = "The service's engine could not run the search; contact the operator."
LONGEST_REASON = LONGEST_DETAIL = 2000
_OF_SQLITE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)


class SearchOrder(Value):
    """The order for the child, which does nothing before it has read it."""

    name: str
    model: str
    dataset: str
    arguments: tuple[str, ...] = ()
    """Arguments on a script's command line."""
    fit: str | None = None
    model_arguments: Mapping[str, Scalar]
    dataset_arguments: Mapping[str, Scalar]
    space: str | Space
    options: SearchOptions
    out: Path
    engine: str
    isolation: Isolation = Isolation.AUTO
    code: Path | None = None
    """Folder of uploaded code, which runs in a sandbox; None for a registered workload."""
    limits: tuple[int, int] | None = None
    """Most processes, and bytes of a file, of uploaded code."""
    kept: tuple[Trial, ...] = ()
    study: str | None = None
    """The purpose of their study."""
    excluded: tuple[Configuration, ...] = ()


class Found(Value):
    """The search has a result."""

    kind: Literal["found"] = "found"
    recommendation: Result


class GaveUp(Value):
    """The search ended without one, by an error that it understands."""

    kind: Literal["gave_up"] = "gave_up"
    reason: str
    interrupted: bool = False
    """Whether it was asked to end, so that the reason is the worker's."""
    for_log: str | None = None


class Stuck(Value):
    """The search could not use its folder, which is no fault of the job."""

    kind: Literal["stuck"] = "stuck"
    for_log: str


FinalMessage = Found | GaveUp | Stuck
Message = Annotated[events.Event | AttemptReport | FinalMessage, Field(discriminator="kind")]
message = TypeAdapter[Message](Message)


def line(what: Message) -> bytes:
    """Return a message as a line; what no text may hold is a question mark in it.

    A workload's error may hold it, as the name of a file does that is not in UTF-8.
    """
    text = json.dumps(message.dump_python(what, mode="json"), ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"


def final_message(error: Exception) -> GaveUp | Stuck | None:
    """Return the last message of a search that ended by an error; None for an unexpected one.

    A fault of the workload or its measurement is told to the job's owner. A fault of the host is
    for the operator's log, and the owner gets a fixed sentence.
    """
    if isinstance(error, OutputError):
        return Stuck(for_log=detail(error))
    if isinstance(error, AutotuneError) and not isinstance(error, EngineError):
        text = str(error).replace("\0", "?")  # No database takes a null.
        reason = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."
        return GaveUp(reason=reason, interrupted=isinstance(error, Interrupted))
    if any(map(_is_of_the_disk, causes(error))):
        return Stuck(for_log=detail(error))
    if isinstance(error, EngineError):
        return GaveUp(reason=NO_ENGINE, for_log=detail(error))
    return None


def detail(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_DETAIL]


def _is_of_the_disk(error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        # Of its code the lowest byte; the others refine it.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_SQLITE
    return is_of_the_disk(error)


Send = Callable[[Message], None]


@shown_by(Face.SERVICE)
def main(arguments: list[str], shared: str | None) -> None:
    """Read the order, search, and send the worker all messages.

    `arguments` are the worker's process id, 0 in a sandbox, which ends with the worker; and the
    descriptor for messages. `shared` is why the network is the machine's; None for one of its own.
    """
    if parent := int(arguments[0]):
        processes.die_with(parent)
    send = _sender(int(arguments[1]))
    line = sys.stdin.buffer.readline()
    if not line:
        return None  # The worker went before it had recorded this process.
    order = SearchOrder.model_validate_json(line)
    if order.limits is not None:
        _limit(*order.limits)
    if order.isolation is Isolation.REQUIRED and shared is not None:
        return send(Stuck(for_log=_network(shared)))
    try:
        result = _search(order, send, shared)
    except Exception as exc:
        last = final_message(exc)
        if last is None:
            raise
        return send(last)
    return send(Found(recommendation=result))


def _limit(processes: int, file: int) -> None:
    """Bound what the program may take, as far as the system does that."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NPROC, processes),
    ):
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def _sender(channel: int) -> Send:
    def send(what: Message) -> None:
        left = memoryview(line(what))
        while left:
            left = left[os.write(channel, left) :]

    os.set_inheritable(channel, False)  # noqa: FBT003 - the name says it
    return send


def _search(order: SearchOrder, send: Send, shared: str | None) -> Result:
    # Optuna takes a second to import; the order is read before, so that a worker need not wait.
    from autotune.search.resume import restore  # noqa: PLC0415 - see above
    from autotune.search.tune import tune  # noqa: PLC0415 - see above

    order.out.mkdir(parents=True, exist_ok=True)
    if order.study is not None:
        # A study's own file may lack the last trial, or lie on another host: the database counts.
        restore(_url(order), STUDY, order.study, order.kept)
    engine = cast("Engine", Reporting(new_engine(order.engine), send, order.excluded))

    def tell_wait(wait: Wait | str) -> None:
        """Send what the job waits for, without the name of a search that is another's."""
        shown = wait.model_copy(update={"holder": None}) if isinstance(wait, Wait) else None
        send(events.Notice(text=BUSY, waiting=shown))

    # A search without the service may run on this machine.
    with engine.reserved(order.name, tell_wait, order.options.budget), engine:
        send(AttemptReport(began=True, events=(events.Notice(text=_network(shared)),)))
        request = TuningRequest(
            workload=_workload(order),
            space=order.space,
            options=order.options,
            out=order.out,
            study=STUDY,
            resume=order.study is not None,
            files=False,
        )
        result = tune(request, engine, _observer(order, send))
        # The result is made: only closing and sending are left.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if result.unsaved:
        # Another worker has room; it goes on with the trials that the database holds.
        raise OutputError(result.unsaved.cause)
    return result


def _workload(order: SearchOrder) -> Workload:
    if not order.dataset and order.code is not None:
        return script_workload(script_from_text(order.model, order.arguments, order.fit))
    arguments = (order.model_arguments, order.dataset_arguments)
    return workload_of(order.model, order.dataset, *arguments)


def _network(shared: str | None) -> str:
    if shared is not None:
        return f"The search uses the machine's network ({shared})."
    own = "The search runs in its own network namespace"
    return f"{own}; its workers are not reachable from outside."


def _url(order: SearchOrder) -> str:
    return f"sqlite:///{(order.out / 'study.db').resolve()}"


def _observer(order: SearchOrder, send: Send) -> events.Observer:
    from autotune.search.resume import made_for  # noqa: PLC0415 - see above

    measured = 0

    def observe(event: events.Event) -> None:
        nonlocal measured
        measured += isinstance(event, events.TrialEnded) and event.trial.measured
        # Behind the first trial comes to it what is learned of the model.
        begins = isinstance(event, events.TrialStarted) and measured == 1
        if isinstance(event, events.Planned) or begins:
            send(AttemptReport(study=made_for(_url(order), STUDY)))
        send(event)

    return observe


class Reporting(Interruptible):
    """An engine that sends what it runs, and runs nothing excluded."""

    def __init__(self, engine: Engine, send: Send, excluded: Collection[Configuration]) -> None:
        super().__init__(engine)
        self._send = send
        self._excluded = frozenset(excluded)
        signal.signal(signal.SIGINT, self.interrupt)

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        self._go_on()
        trial = trial_in(task)
        if trial is None:
            return self._engine.execute(task, watch)
        if trial.configuration in self._excluded:
            reason = PlainReason(kind=ReasonKind.EXCLUDED, deaths=MOST_DEATHS)
            return task.answer(RunResult(outcome=Outcome.CRASHED, reason=reason))
        self._send(AttemptReport(running=trial.configuration))
        answer = self._engine.execute(task, watch)
        self._send(AttemptReport(idle=True))
        return answer
