"""One run of a training: from the start of its processes until something ends it."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from autotune.engine import events, reasons
from autotune.engine.base import Limits, RunResult, Watch, go_on
from autotune.engine.events import Event
from autotune.engine.group import POLL, Exit, Report, WorkerGroup
from autotune.engine.reasons import WorkersLost
from autotune.reason import KernelKilled, Outcome, Overdue, Phase, PlainReason, Reason, ReasonKind
from autotune.shared_values import Window
from autotune.strategies import Role

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
                outcome = Outcome.OUT_OF_MEMORY if reasons.is_memory(event) else Outcome.FAILED
                cause = reasons.explain(event, self._name(member))
                ending = Ending(outcome, cause, event["detail"])
                late = reasons.is_consequence(event)
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
                return Ending(stop.outcome, stop.reason) if stop else None
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
