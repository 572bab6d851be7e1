"""One attempt at a job: the order for its process, the process, its lease, its end and outcome."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import psutil

from autotune import events
from autotune.api import sandbox
from autotune.api.isolation import Isolation
from autotune.api.settings import PREFIX, Code, Patience, Settings
from autotune.api.store import attempts
from autotune.api.store.attempts import superseded
from autotune.api.store.database import Database
from autotune.api.values import AttemptReport, ClaimedJob, JobOutcome
from autotune.api.work import processes
from autotune.api.work.child import (
    MOST_DEATHS,
    ODD,
    FinalMessage,
    Found,
    GaveUp,
    Message,
    SearchOrder,
    message,
)
from autotune.api.workloads import Registry
from autotune.space import Space
from autotune.text import cleaned, roughly, size
from autotune.wire.errors import DatabaseUnavailable, ServiceError
from autotune.wire.jobs import Job, State

# As in `autotune.engine.fork_client`: the worker's own module path finds the same autotune. The
# network comes before all that starts threads.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "from autotune.api.isolation import enter; shared = enter(sys.argv.pop()); "
    "from autotune.api.work.child import main; main(sys.argv[1:], shared)"
)
_WITHHELD = (PREFIX, "OTEL_")
"""Beginnings of the variables of the service's settings, and of its traces."""
LAST_SECONDS = 15.0
"""A search that goes on after a crash gets at least this long, to decide from what it has."""
LONGEST_LINE, AT_ONCE, MOST = 1 << 26, 1 << 24, 1 << 28
"""Bytes of a message, of what is heard before it is looked at, and of all messages."""


def order(claimed: ClaimedJob, registry: Registry, settings: Settings) -> SearchOrder:
    request = claimed.job
    out = (settings.jobs / claimed.job.id / str(claimed.token.attempt)).absolute()
    left = max(request.seconds - claimed.used_seconds, min(LAST_SECONDS, request.seconds))
    deaths = Counter(claimed.killers)
    # A study without trials may be another machine's, or of other code.
    goes_on = claimed.study and claimed.kept
    return SearchOrder(
        name=f"job {claimed.job.id}",
        **_what(request, registry, settings, out),
        space=request.space,
        options=request.options.model_copy(update={"budget": left}),
        out=out,
        engine=settings.engine,
        isolation=settings.network,
        kept=claimed.kept if goes_on else (),
        study=claimed.study if goes_on else None,
        excluded=tuple(each for each, count in deaths.items() if count >= MOST_DEATHS),
    )


def _what(request: Job, registry: Registry, settings: Settings, out: Path) -> dict[str, Any]:
    """Return the part of an order that says what is tuned, with the arguments that are no axes."""
    program = request.program
    if program is None:
        workload = registry[request.workload]
        params = workload.validate(request.params)
        workload.check_space(request.space, params)
        what: dict[str, Any] = {"model": workload.model, "dataset": workload.dataset}
        of_dataset = {name: params.pop(name) for name in workload.for_dataset & params.keys()}
    else:
        params, of_dataset = request.params, program.dataset_params
        what = program.model_dump(include={"model", "dataset", "arguments", "fit"})
        what |= {"code": out / "code", "limits": (settings.code.processes, settings.code.disk)}
    axes = request.space.own_axes if isinstance(request.space, Space) else ()
    for name, given in (("model_arguments", params), ("dataset_arguments", of_dataset)):
        what[name] = {each: value for each, value in given.items() if each not in axes}
    return what


class Tuner:
    """Starts the process, hears it, and ends it with all that it started.

    It must be used by the thread that starts it, for as long as that lives: the kernel ends the
    process with that thread.
    """

    def __init__(
        self, marker: str, settings: Settings, order: SearchOrder, *, adopts: bool
    ) -> None:
        self.order = order
        self._marker = marker
        self._adopts = adopts
        self._received, self._heard = b"", 0
        marked = {processes.MARKER: marker}
        # A variable that may hold a password of the service is not for a workload.
        kept = {name: text for name, text in os.environ.items() if not name.startswith(_WITHHELD)}
        before, environment, parent, network = [], {**kept, **marked}, os.getpid(), order.isolation
        if order.code is not None:
            before = sandbox.command(settings, order.out, order.code)
            environment, parent, network = sandbox.variables(marked), 0, Isolation.HAD
        with (order.out / "search.log").open("ab") as output:
            self._channel, theirs = os.pipe()
            paths = [str(Path(each).absolute()) for each in sys.path]
            program = [*before, sys.executable, "-c", _PROGRAM, str(parent), str(theirs)]
            try:
                self._process = subprocess.Popen(
                    [*program, network, json.dumps(paths)],
                    env=environment,
                    cwd=settings.root,
                    pass_fds=[theirs],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError:
                os.close(self._channel)
                raise
            finally:
                os.close(theirs)
        self.pid = self._process.pid

    @property
    def ended(self) -> int | None:
        return self._process.poll()

    def go(self) -> None:
        channel = self._process.stdin
        with suppress(BrokenPipeError):
            if channel is not None:
                channel.write(self.order.model_dump_json().encode() + b"\n")
                channel.close()

    def listen(self, seconds: float) -> list[Message]:
        """Return its messages, waiting at most that long for the first.

        Whatever is no message ends the search, and is the last one.
        """
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        lines: list[bytes] = []
        until = self._heard + AT_ONCE
        while self._heard < until and poll.poll(0 if lines else seconds * 1000):
            data = os.read(self._channel, 1 << 20)
            if not data:  # It has closed its end, and is about to go.
                time.sleep(0 if lines else seconds)
                break
            self._heard += len(data)
            *whole, self._received = (self._received + data).split(b"\n")
            lines += whole
        endless = len(self._received) > LONGEST_LINE or self._heard > MOST
        return [*_read(lines, endless=endless)]

    def interrupt(self) -> None:
        if self.order.code is None:
            return self._process.send_signal(signal.SIGINT)
        # Two processes of bubblewrap are before it, and pass no signal on.
        with suppress(psutil.Error, IndexError):
            first = psutil.Process(self._process.pid).children()[0]
            first.children()[0].send_signal(signal.SIGINT)
        return None

    def use(self) -> tuple[int, int, int] | None:
        """Return what uploaded code takes, as `use_of`; None for a registered workload."""
        if self.order.code is None:
            return None
        with suppress(psutil.Error):
            return sandbox.use_of(psutil.Process(self._process.pid), self.order.out)
        return None

    def end(self) -> bool:
        """Kill it with all that it started; return whether nothing is left."""
        self._process.kill()
        gone = processes.end_all(self._left)
        if self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
        return gone

    def close(self) -> None:
        self._process.wait()
        os.close(self._channel)
        if self._adopts:
            processes.reap_adopted()

    def _left(self) -> list[psutil.Process]:
        self._process.poll()
        strays = processes.children() if self._adopts else []
        return processes.marked(self._marker) + strays


def _read(lines: list[bytes], *, endless: bool = False) -> Iterator[Message]:
    for line in lines:
        try:
            yield message.validate_json(cleaned(line))
        except (ValueError, RecursionError):
            yield GaveUp(reason=ODD)
            return
    if endless:
        yield GaveUp(reason=ODD)


Result = TypeVar("Result")
_RETRY_SECONDS = 0.5
_LISTEN_SECONDS = 0.1
_WATCH_SECONDS = 1.0
"""Between two looks at what uploaded code takes."""


def awake() -> float:
    """Return seconds that also pass while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """Renews the lease of a claimed job in time, and polls the state of the job.

    A worker that cannot renew gives up a third of the lease before the database would, so that no
    other one begins to measure while its processes still run.
    """

    def __init__(
        self,
        database: Database,
        claimed: ClaimedJob,
        patience: Patience,
        clock: Callable[[], float] = awake,
    ) -> None:
        self.database = database
        self.claimed = claimed
        self.token = claimed.token
        self.patience = patience
        self._clock = clock
        self._renewed = self._polled = clock()
        self._state = State.RUNNING

    def keep(self) -> State:
        """Renew the lease if it is time to; return the state of the job as last seen."""
        self._check()
        now = self._clock()
        try:
            if now - self._renewed >= self.patience.renewal:
                self.renew()
            elif now - self._polled >= self.patience.poll:
                self._state = attempts.status(self.database, self.token)
                self._polled = now
        except DatabaseUnavailable:
            self._check()
        return self._state

    def renew(self) -> None:
        # Counted from before the call: the database may have been slow to answer.
        now = self._clock()
        self._state = attempts.renew(self.database, self.token, self.patience.lease)
        self._renewed = self._polled = now

    def insist(self, write: Callable[[], Result]) -> Result:
        """Write, again and again while the database does not answer and the lease lasts."""
        while True:
            try:
                return write()
            except DatabaseUnavailable:
                self._check()
                time.sleep(min(_RETRY_SECONDS, self.patience.lease / 10))

    def _check(self) -> None:
        if self._clock() - self._renewed > self.patience.lease * 2 / 3:
            raise superseded()


class EndCause(StrEnum):
    ANSWERED = "answered"
    """Its process sent a result, or why there is none."""
    DIED = "died"
    """Its process ended without a last message."""
    CANCELLED = "cancelled"
    OVERRAN = "overran"
    STOPPED = "stopped"
    EXCEEDED = "exceeded"
    """Uploaded code took more than it may."""


class Supervision:
    def __init__(
        self, lease: Lease, tuner: Tuner, limits: Code, stopping: Callable[[], bool]
    ) -> None:
        self._limits = limits
        self._lease = lease
        self._tuner = tuner
        self._stopping = stopping
        self._seconds = tuner.order.options.budget or lease.claimed.job.seconds
        self._heard = 0
        self._unwritten: deque[AttemptReport] = deque()
        self._began: float | None = None
        self._deadline = 0.0
        self.asked: EndCause | None = None
        self.final: FinalMessage | None = None
        self._watched = time.monotonic()

    def follow(self) -> EndCause:
        cause = None
        while cause is None:
            # Checked before listening: what it wrote before its exit is then heard in this turn.
            ended = self._tuner.ended is not None
            self._hear(self._tuner.listen(_LISTEN_SECONDS))
            state = self._lease.keep()
            with suppress(DatabaseUnavailable):  # The next turn looks at the lease first.
                self._write()
            cause = self._cause(state, ended=ended)
        if cause is EndCause.ANSWERED:
            self._lease.insist(self._write)
        return cause

    def _hear(self, received: list[Message]) -> None:
        for each in received:
            self._heard += 1
            if isinstance(each, FinalMessage):
                # It is recorded with the job's end, once nothing of the search is left.
                self.final, report = each, AttemptReport()
            elif isinstance(each, AttemptReport):
                report = each
            else:
                trial = each.trial if isinstance(each, events.TrialEnded) else None
                report = AttemptReport(events=(each,), trial=trial)
            self._unwritten.append(report.model_copy(update={"number": self._heard}))
            if report.began:
                self._began = time.monotonic()

    def _write(self) -> None:
        while self._unwritten:
            try:
                attempts.record(self._lease.database, self._lease.token, self._unwritten[0])
            except ServiceError:
                raise
            except Exception:  # noqa: BLE001 - no database takes it, such as a number that is known
                self._unwritten.clear()
                self.final = GaveUp(reason=ODD)
                return
            self._unwritten.popleft()

    def _cause(self, state: State, *, ended: bool) -> EndCause | None:
        if self.final is not None:
            return EndCause.ANSWERED
        if ended:
            return self.asked or EndCause.DIED
        if (reason := self._exceeded()) is not None:
            self.final = GaveUp(reason=reason)
            return EndCause.EXCEEDED
        if self._stopping():
            return EndCause.STOPPED
        overrun = self._seconds + self._lease.patience.overrun
        cause = EndCause.CANCELLED if state is State.CANCELLING else None
        if cause is None and self._began is not None and time.monotonic() - self._began > overrun:
            cause = EndCause.OVERRAN
        if cause and not self.asked:
            self.asked = cause
            self._deadline = time.monotonic() + self._lease.patience.interrupt
            self._tuner.interrupt()
        return self.asked if self.asked and time.monotonic() > self._deadline else None

    def _exceeded(self) -> str | None:
        """Return what uploaded code takes too much of, as a sentence, looking now and then."""
        if time.monotonic() < self._watched:
            return None
        began = time.monotonic()
        use = self._tuner.use()
        # Looking takes longer the more there is, and disturbs what is measured.
        self._watched = time.monotonic() + max(_WATCH_SECONDS, 100 * (time.monotonic() - began))
        if use is None:
            return None
        memory, processes, disk = use
        allowed = self._limits
        held = allowed.most_memory
        for exceeded, words in (
            (memory > held, f"{size(memory)} of memory; {size(held)}"),
            (processes > allowed.processes, f"{processes} processes; {allowed.processes}"),
            (disk > allowed.disk, f"{size(disk)} of the disk; {size(allowed.disk)}"),
        ):
            if exceeded:
                return f"The program took {words} are allowed here."
        return None


def outcome_of(cause: EndCause, final: FinalMessage | None, job: Job) -> JobOutcome:
    match final:
        case Found(recommendation=result):
            gain = result.gain_over_yours
            return JobOutcome(
                state=State.DONE,
                verdict=result.verdict,
                gain_over_yours=gain and gain.value,
                summary=result.summary,
                recommendation=result.model_dump_json(exclude={"trials"}),
            )
        case GaveUp(reason=reason, interrupted=False):
            return failed(reason)
    if cause is EndCause.CANCELLED:
        return JobOutcome(state=State.CANCELLED)
    return failed(
        f"The search had no result within its budget of {roughly(job.seconds)} and was stopped. "
        "Ask for it again with a longer budget."
    )


def failed(reason: str) -> JobOutcome:
    return JobOutcome(state=State.FAILED, reason=reason)
