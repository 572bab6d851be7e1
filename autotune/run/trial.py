"""One run of a gang that trains: from its start until something ends it."""

from __future__ import annotations

import time

from autotune.reason import FinishedEarly, KernelKilled, MemoryExceeded, NotFinite, Orphaned
from autotune.run import events, memory, reasons
from autotune.run.blame import Ending, Trouble, blame
from autotune.run.efforts import Efforts
from autotune.run.engine import Outcome, RunResult, TrialRequest, Watch, Window
from autotune.run.events import Event
from autotune.run.forking import ForkServerDied
from autotune.run.gang import POLL, Gang, Report
from autotune.run.memory import MemoryGauge
from autotune.run.read_out import automatic_of
from autotune.run.watchdog import Watchdog


class Trial:
    """Follows a gang and keeps what becomes of it.

    Args:
        request: What was asked for.
        gang: Its processes.
        gauge: Of their memory.
        watch: Told of every new window.
    """

    def __init__(self, request: TrialRequest, gang: Gang, gauge: MemoryGauge, watch: Watch) -> None:
        self._request = request
        self._gang = gang
        self._gauge = gauge
        self._watch = watch
        self._begun = time.monotonic()
        self._kills = memory.kernel_kills()
        self._watchdog = Watchdog(request.limits, self._begun)
        self._troubles: dict[int, Trouble] = {}
        self._windows: list[Window] = []
        self._efforts = Efforts(len(request.roles))
        self._read_out: list[Report] = []
        self._start_seconds: float | None = None
        self._first_step_seconds: float | None = None
        self._lost_updates: float | None = None

    def run(self) -> RunResult:
        """Start the gang and follow it until something ends it."""
        ending = None
        try:
            self._gang.start()
            while ending is None:
                ending = self._hear(self._gang.listen(POLL)) or self._look()
        except ForkServerDied:
            ending = Ending(Outcome.CRASHED, Orphaned())
        return self._result(ending)

    def _hear(self, reports: list[Report]) -> Ending | None:
        """Take in what the processes report."""
        for member, event in reports:
            self._note_trouble(member, event)
            self._efforts.note(member, event)
            if event["event"] == events.READ_OUT:
                self._read_out.append(Report(member, event))
            ending = self._nan(event) or (self._progress(event) if member == 0 else None)
            if ending:
                return ending
        return None

    def _look(self) -> Ending | None:
        """See what the processes cannot report themselves."""
        for member, status in self._gang.exits().items():
            if member not in self._troubles:
                self._troubles[member] = self._death(member, status)
        now = time.monotonic()
        return blame(tuple(self._troubles.values()), now) or self._hung(now) or self._too_large()

    def _progress(self, event: Event) -> Ending | None:
        """Take in what the first process, which speaks for all, says of its steps."""
        self._watchdog.note(event)
        match event["event"]:
            case events.TRAIN_BEGIN:
                self._start_seconds = event["at"] - self._begun
            case events.FIRST_STEP:
                self._first_step_seconds = event["seconds"]
            case events.WINDOW:
                self._windows.append(Window(event["steps"], event["seconds"]))
                self._lost_updates = event.get("lost")
                stop = self._watch(tuple(self._windows))
                return Ending(stop.outcome, stop.reason) if stop else None
        return None

    def _note_trouble(self, member: int, event: Event) -> None:
        match event["event"]:
            case events.ERROR:
                outcome = Outcome.OUT_OF_MEMORY if reasons.is_memory(event) else Outcome.FAILED
                reason = reasons.explain(event, self._name(member))
                ending = Ending(outcome, reason, event["detail"])
                consequence = reasons.is_consequence(event)
            case events.FINISHED:
                ending = Ending(Outcome.FAILED, FinishedEarly(), self._gang.last_words(member))
                consequence = False
            case _:
                return
        self._troubles[member] = Trouble(at=event["at"], ending=ending, consequence=consequence)

    def _death(self, member: int, status: int) -> Trouble:
        name, detail = self._name(member), self._gang.last_words(member)
        if reasons.is_kill(status) and memory.kernel_kills() > self._kills:
            ending = Ending(Outcome.OUT_OF_MEMORY, KernelKilled(process=name))
        else:
            ending = Ending(Outcome.CRASHED, reasons.death(status, name), detail)
        return Trouble(at=time.monotonic(), ending=ending)

    def _nan(self, event: Event) -> Ending | None:
        if event["event"] != events.NAN:
            return None
        reason = NotFinite(name=event["name"], value=str(event["value"]), step=event["step"])
        return Ending(Outcome.FAILED, reason)

    def _hung(self, now: float) -> Ending | None:
        overdue = self._watchdog.overdue(now)
        return Ending(Outcome.HUNG, overdue, self._stacks()) if overdue else None

    def _stacks(self) -> str:
        """Return where the processes stand."""
        return "\n".join(
            f"{self._prefix(member)}{self._gang.stack(member)}"
            for member in range(min(len(self._request.roles), _MOST_STACKS))
        )

    def _too_large(self) -> Ending | None:
        if not self._gauge.exceeded():
            return None
        reason = MemoryExceeded(used=self._gauge.peak, limit=self._gauge.most)
        return Ending(Outcome.OUT_OF_MEMORY, reason)

    def _result(self, ending: Ending) -> RunResult:
        return RunResult(
            outcome=ending.outcome,
            reason=ending.reason,
            detail=ending.detail,
            windows=tuple(self._windows),
            start_seconds=self._start_seconds,
            first_step_seconds=self._first_step_seconds,
            lost_updates=self._lost_updates,
            peak_memory=self._gauge.peak,
            work_seconds=self._efforts.per_step(),
            automatic=automatic_of(self._read_out) if self._request.reads_out else None,
        )

    def _name(self, member: int) -> str:
        roles = self._request.roles
        return roles[member].name if len(roles) > 1 else ""

    def _prefix(self, member: int) -> str:
        name = self._name(member)
        return f"{name}: " if name else ""


_MOST_STACKS = 4
