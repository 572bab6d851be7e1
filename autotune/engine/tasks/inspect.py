"""What each host offers, and what the factories, or a script up to its `fit`, give."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from autotune.base import Scalar, Value
from autotune.engine.base import Engine, HostTask, Limits, RunResult
from autotune.engine.events import SAID, Step
from autotune.engine.reasons import explain
from autotune.errors import (
    AutotuneError,
    CodeError,
    DatasetTooSmall,
    EngineError,
    FactoryFailed,
    FactoryNotFound,
    NothingMeasured,
    ScriptFailed,
    WorkloadError,
)
from autotune.machine import Machine, this_host
from autotune.program import script_reader
from autotune.reason import (
    Exited,
    KernelKilled,
    Killed,
    KnownError,
    Outcome,
    Overdue,
    Phase,
    PlainReason,
    Raised,
    ReasonKind,
)
from autotune.reason.sentences import death, reason_text
from autotune.workload import Factory, Script, Workload, WorkloadFacts

E = TypeVar("E", bound=Exception)

_START_SECONDS = 60.0
_LOOKING_SECONDS = 60.0  # For all looks at the data; a slow script may take longer to its fit.
_KINDS: Mapping[str, type[WorkloadError]] = {
    kind.__name__: kind for kind in (FactoryNotFound, FactoryFailed, ScriptFailed, DatasetTooSmall)
}
_OUR_FAULT = "This is a bug in autotune. Please report it with what `autotune machine` shows."
EVERYWHERE = "Put the data in the same place on all machines, or on a file system that they share."
_SAME = {
    "element": "examples are",
    "examples": "their number is",
    "file_shards": "files to divide them by are",
    "weights": "the model's weights are",
}
"""Facts that are equal on all hosts, and what to call them."""


@dataclass(frozen=True)
class InspectionRequest(HostTask[WorkloadFacts]):
    """Factories to be called in a process of their own."""

    code = "autotune.engine.child.inspect:inspect"

    workload: Workload = field()
    offered: Mapping[str, Scalar] = field(default_factory=dict)
    """Values for parameters that a factory may declare: one of each own axis."""
    seconds: float = 60.0
    """Longest time of each step, such as building the model or reading the first example."""
    whole: float = math.inf
    """Longest time of all steps."""

    @property
    def limits(self) -> Limits:
        return Limits(start=_START_SECONDS, window=self.seconds, whole=self.whole)

    def payload(self) -> Mapping[str, Any]:
        workload = self.workload
        return {
            "seconds": min(self.seconds, _LOOKING_SECONDS),
            "script": script_reader(workload.script) if workload.script else None,
            "fit": workload.script.number if workload.script else None,
            "offered": dict(self.offered),
            "unbatch": workload.unbatch,
            "examples": workload.examples,
            "model": _order(workload.model),
            "dataset": _order(workload.dataset),
            "callbacks": _order(workload.callbacks) if workload.callbacks else None,
        }

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> WorkloadFacts:
        """Return what the factories give.

        Raises:
            WorkloadError: One does not fulfil its contract.
            NothingMeasured: All steps together took too long.
        """
        if not answers:
            raise _failure(self, result)
        if "complaint" in answers[0]:
            raise _error(answers[0]["complaint"], self.workload.script)
        return WorkloadFacts.model_validate(answers[0]["facts"])

    def together(self, answers: Mapping[Any, WorkloadFacts]) -> WorkloadFacts:
        """Return what the factories give on all hosts.

        Raises:
            FactoryFailed: They do not give the same everywhere.
        """
        subject = "The script does" if self.workload.script else "The factories do"
        for name, words in _SAME.items():
            facts = {host: each.certain(name) for host, each in answers.items()}
            certain = {host: fact for host, fact in facts.items() if fact is not None}
            first = next(iter(certain), None)
            for host, fact in certain.items():
                if fact != certain[first]:
                    raise FactoryFailed(
                        f"{subject} not give the same on machine {host} and on {first}: "
                        f"{words} {fact} and {certain[first]}.",
                        EVERYWHERE,
                    )
        return min(answers.values(), key=lambda facts: len(facts.uncertain))


class FirstSteps(Value):
    """Times of the first steps of a script's `fit`, as the facts of its workload have them."""

    first_step_seconds: float | None = None
    own_step_seconds: float | None = None
    between_seconds: float = 0.0
    facts: WorkloadFacts | None = None
    """The others; None where another process has to find them."""


@dataclass(frozen=True)
class FirstStepRequest(HostTask[FirstSteps]):
    """The first step of a script's `fit`, made by Keras with all that the script gives to it."""

    code = "autotune.engine.child.inspect:first_step"

    workload: Workload = field()
    seconds: float = 60.0
    """Longest time until the `fit` is reached, and of each part of it; its first call may take a
    few minutes."""
    whole: float = math.inf
    """Longest time of all of it."""

    @property
    def limits(self) -> Limits:
        return Limits(start=_START_SECONDS, window=self.seconds, whole=self.whole)

    def payload(self) -> Mapping[str, Any]:
        script = self.workload.script
        if script is None:
            return {}
        seconds = min(self.seconds, _LOOKING_SECONDS)
        return {"script": script_reader(script), "fit": script.number, "seconds": seconds}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> FirstSteps:
        """Return the seconds of the first call, if it was made to its end, and of later ones.

        Raises:
            WorkloadError: The script does not come to its `fit`, or that fails by itself.
        """
        if answers and "complaint" in answers[0]:
            raise _error(answers[0]["complaint"], self.workload.script)
        slow = result.outcome is Outcome.HUNG and result.start_seconds is not None
        # What ends the process in more steps than the script asked for is none of its faults.
        more = result.doing == Step.STEPPING_ON and result.outcome is Outcome.CRASHED
        if answers or slow or more:
            later = answers[0]["facts"] if answers else {}
            return FirstSteps(first_step_seconds=result.first_step_seconds, **later)
        raise _failure(self, result)

    def together(self, answers: Mapping[Any, FirstSteps]) -> FirstSteps:
        """Return that of one host, whose facts another process compares with the others'."""
        first = super().together(answers)
        return first if len(answers) == 1 else first.model_copy(update={"facts": None})

    def not_offered(self) -> FirstSteps:
        return FirstSteps()


def inspected(engine: Engine, request: InspectionRequest) -> WorkloadFacts:
    """Return what is known of a workload whose own `fit`, if it is a script's, makes a step.

    Raises:
        WorkloadError: A factory does not fulfil its contract, or the script fails by itself.
        NothingMeasured: All of it together took too long.
    """
    if request.workload.script is None:
        return engine.execute(request)
    began = engine.now()
    steps = engine.execute(FirstStepRequest(request.workload, request.seconds, request.whole))
    rest = replace(request, whole=request.whole - (engine.now() - began))
    facts = steps.facts or engine.execute(rest)
    return facts.model_copy(update=steps.model_dump(exclude={"facts"}))


def _failure(task: InspectionRequest | FirstStepRequest, result: RunResult) -> AutotuneError:
    step = result.doing or Step.STARTING
    if isinstance(result.reason, Overdue) and result.reason.phase is Phase.WHOLE:
        return NothingMeasured(
            f"Nothing was measured: the budget ran out while {step}.", "Use a longer --budget."
        )
    if result.outcome is Outcome.HUNG:
        seconds = _START_SECONDS if step == Step.STARTING else task.seconds
        where = f" It stood here:\n{result.detail}" if result.detail else ""
        return FactoryFailed(
            f"The inspection came no further for {seconds:g} s while {step}.",
            f"Check what it waits for.{where}",
        )
    what, see = "factories", "Call them in a separate Python session to see why."
    if task.workload.script:
        what, see = "script", "Check that it runs by itself."
    # What the user's code raises is answered as a complaint.
    ours = isinstance(result.reason, Raised)
    failure = FactoryFailed(
        f"The process that inspects the {what} {why_ended(result)} while {step}.",
        _OUR_FAULT if ours else see,
    )
    return with_detail(failure, result.detail)


def why_ended(result: RunResult) -> str:
    """Return why a process left no answer, as the predicate of a sentence on it."""
    match result.reason:
        case Raised() | KnownError():
            return f"failed with {reason_text(result.reason).rstrip('.')}"
        case Killed() | Exited() | KernelKilled():
            return death(result.reason)
        case PlainReason(kind=ReasonKind.ORPHANED):
            return "was killed together with its parent process"
    return "ran out of memory"


def with_detail(error: E, detail: str) -> E:
    if detail:
        error.add_note(detail)
    return error


def _order(factory: Factory) -> dict[str, Any]:
    return factory.model_dump(include={"name", "module", "root", "arguments"})


def _error(complaint: Mapping[str, Any], script: Script | None) -> WorkloadError:
    cause, raised = complaint["cause"], complaint["error"]
    lines = complaint["lines"]
    advice = _advice(Path(script.path), range(lines[0], lines[1] + 1)) if script and lines else ""
    if raised:
        cause = cause.replace(SAID, reason_text(explain(raised)).rstrip("."))
    error = _KINDS[complaint["kind"]](cause, advice or complaint["next_step"])
    return with_detail(error, raised["detail"] if raised else "")


def _advice(path: Path, lines: range) -> str:
    """Return what the doctor says first of an error in lines of a file; empty if nothing."""
    # Here, as only what fails needs it.
    from autotune.doctor import Severity  # noqa: PLC0415 - see above
    from autotune.doctor.check import check_text  # noqa: PLC0415 - see above
    from autotune.doctor.rules import rules  # noqa: PLC0415 - see above
    from autotune.doctor.source import read_texts  # noqa: PLC0415 - see above

    with suppress(CodeError):
        for text in read_texts(path):
            for each in check_text(text, rules()).findings:
                wrong = each.severity is Severity.ERROR and each.place.cell is None
                if wrong and each.place.line in lines:
                    return f"{each.sentence} (autotune doctor --explain {each.rule})"
    return ""


_SECONDS = 120.0


class DevicesRequest(HostTask[Machine]):
    """Devices and versions to be listed."""

    code = "autotune.engine.child.process:list_devices"
    limits = Limits(start=_SECONDS)

    def payload(self) -> Mapping[str, Any]:
        return {}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Machine:
        """Return this host.

        Raises:
            EngineError: TensorFlow cannot list its devices.
        """
        if answers:
            return this_host(**answers[0])
        hung = result.outcome is Outcome.HUNG
        why = f"took longer than {_SECONDS:g} s" if hung else why_ended(result)
        error = EngineError(
            f"TensorFlow cannot list its devices: the process that tried {why}.",
            "Check that `tf.config.list_physical_devices()` works in this environment.",
        )
        raise with_detail(error, result.detail)

    def together(self, answers: Mapping[Any, Machine]) -> Machine:
        """Return all hosts as one machine, each by its address.

        Raises:
            EngineError: They do not have the same software.
        """
        first, *others = answers
        for host in others:
            for name in ("Python", "TensorFlow", "Keras"):
                version, expected = (getattr(answers[h], name.lower()) for h in (host, first))
                if version != expected:
                    raise EngineError(
                        f"Machine {host} runs {name} {version}, {first} {expected}.",
                        f"Install the same version of {name} on all machines.",
                    )
        hosts = [
            machine.hosts[0].model_copy(update={"name": host.address})
            for host, machine in answers.items()
        ]
        return answers[first].model_copy(update={"hosts": tuple(hosts)})
