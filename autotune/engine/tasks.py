"""The tasks that engines do: a training, what is made of one, and what each host is asked for.

What processes do for a task stands in `autotune.engine.child`.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeVar

from autotune.base import Scalar, Value
from autotune.config import Configuration
from autotune.engine.base import A, Engine, HostTask, Limits, RunResult, Task
from autotune.engine.events import SAID, Step, TrialFolder
from autotune.engine.trial_run import explain
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
from autotune.learning import Learning, Unpredictable
from autotune.machine import Machine, this_host
from autotune.program import render, script_reader
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
    Reason,
    ReasonKind,
)
from autotune.reason.sentences import death, reason_text
from autotune.strategies import Role, strategy
from autotune.workload import Factory, Script, Workload, WorkloadFacts


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
class TrialRequest(Task[RunResult]):
    """One run to be made: a program, its processes, and the folder that holds their traces."""

    code = "autotune.engine.child.train:train"

    configuration: Configuration
    script: str
    """Text of the training program; it is run unchanged."""
    workload: Workload = field()
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
    own_calls: bool = False
    """Whether the program says by itself how many steps a call has."""
    fill: Fill | None = None
    """What is read before the training; None where nothing is cached."""
    limits: Limits = field(default_factory=Limits)

    def payload(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "by_value": [name for name, each in self.workload.factories.items() if each.pickled],
            "fill": self.fill and asdict(self.fill),
            "exchanges": self.exchanges,
            "batch": self.configuration.global_batch,
            "steps_per_call": None if self.own_calls else self.configuration.steps_per_execution,
        }

    def prepare(self, folder: TrialFolder) -> None:
        super().prepare(folder)
        folder.script.write_text(self.script, encoding="utf-8")

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> RunResult:
        del answers
        return result


@dataclass(frozen=True, kw_only=True)
class TrialTask(Task[A]):
    """A task for the processes of a training, which do something else than being timed."""

    trial: TrialRequest

    def prepare(self, folder: TrialFolder) -> None:
        self.trial.prepare(folder)
        super().prepare(folder)

    def payload(self) -> Mapping[str, Any]:
        """Return what the training reads, and the fields of the task."""
        own = [each.name for each in fields(self) if each.name != "trial"]
        return {**self.trial.payload(), **{name: getattr(self, name) for name in own}}


def trial_in(task: Task[Any]) -> TrialRequest | None:
    """Return the training that a task is made of; None where it trains nothing that counts."""
    if isinstance(task, TrialTask):
        return task.trial
    return task if isinstance(task, TrialRequest) else None


def trial_request(
    configuration: Configuration,
    workload: Workload,
    facts: WorkloadFacts,
    machine: Machine,
    folder: Path,
    *,
    held: bool = False,
    **more: Any,
) -> TrialRequest:
    """Return the request for a run of a configuration's own program."""
    return TrialRequest(
        configuration=configuration,
        script=render(configuration, workload, facts, machine, held=held).train,
        workload=workload,
        roles=strategy(configuration.strategy).roles(configuration, machine),
        folder=folder,
        held=held,
        **more,
    )


@dataclass(frozen=True, kw_only=True)
class LearningRequest(TrialTask[Learning]):
    """A training of one device, with one step for each call, at the user's own batch.

    What was found when the trial's whole limit ends it counts.
    """

    code = "autotune.engine.child.learn:learn"

    seconds: float = 10.0
    """For training and taking gradients together, once training has begun."""

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Learning:
        over = isinstance(result.reason, Overdue) and result.reason.phase is Phase.WHOLE
        if answers and (result.outcome is Outcome.MEASURED or over):
            return Learning.model_validate(answers[0])
        return self._refused(Unpredictable.NO_TIME if over else Unpredictable.FAILED)

    def not_offered(self) -> Learning:
        return self._refused(Unpredictable.NOT_OFFERED)

    def _refused(self, why: Unpredictable) -> Learning:
        return Learning(batch=self.trial.configuration.global_batch, refused=why)


@dataclass(frozen=True, kw_only=True)
class BetweenEpochsRequest(TrialTask[float | None]):
    """The program with its validation and checkpoints, in epochs of a few steps.

    The answer is the seconds of these after an epoch. Workers wait for each other, so the slowest
    one counts.
    """

    code = "autotune.engine.child.train:between_epochs"

    def payload(self) -> Mapping[str, Any]:
        return {**super().payload(), "validates": True}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> float | None:
        if result.outcome is not Outcome.MEASURED or not answers:
            return None
        return max(fmean(each["seconds"] or [0.0]) for each in answers)

    def not_offered(self) -> None:
        return None


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
class WorkloadTask(HostTask[A]):
    """A task that runs the user's code once, on each host."""

    workload: Workload = field()
    seconds: float = 60.0
    """Longest time of each step, such as building the model or reading the first example; the first
    call of a script's `fit` may take a few minutes."""
    whole: float = math.inf
    """Longest time of all steps."""

    @property
    def limits(self) -> Limits:
        return Limits(start=_START_SECONDS, window=self.seconds, whole=self.whole)


@dataclass(frozen=True)
class InspectionRequest(WorkloadTask[WorkloadFacts]):
    """Factories to be called in a process of their own."""

    code = "autotune.engine.child.inspect:inspect"

    offered: Mapping[str, Scalar] = field(default_factory=dict)
    """Values for parameters that a factory may declare: one of each own axis."""

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
class FirstStepRequest(WorkloadTask[FirstSteps]):
    """The first step of a script's `fit`, made by Keras with all that the script gives to it."""

    code = "autotune.engine.child.inspect:first_step"

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


def _failure(task: WorkloadTask[Any], result: RunResult) -> AutotuneError:
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
                    return f"{each.sentence} (`autotune doctor --explain {each.rule}`)"
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


Kind = Literal["trainable", "state", "optimizer", "random"]
"""What a variable is for: weights that are learned, other weights, the optimizer's own variables,
and the state of a generator of random numbers."""
Numbers = tuple[float, ...]


class Reader(Value):
    """The input of one replica."""

    sizes: Numbers
    """Examples in each batch, in order."""
    elements: tuple[str, ...]
    """Structure, types and shapes of the batches, each different one once."""
    examples: Mapping[str, int] | None
    """How often each example was read, by a fingerprint; None where examples are not tensors."""


class Variable(Value):
    """A variable of the model or the optimizer."""

    name: str
    kind: Kind
    epsilon: float
    """Relative size of a rounding in its type; 0 for whole numbers."""
    copies: int
    """Of it in this process."""
    mirrored: bool
    """Whether the strategy knows it as one variable with a copy for each replica."""
    apart: bool
    """Whether its copies differ on purpose until it is read."""


class Copy(Value):
    """All variables of one replica, as sketches that keep distances (see `sketch`)."""

    start: tuple[Numbers, ...]
    """Before the first step, in the order of the variables; optimizers may have none yet."""
    end: tuple[Numbers, ...]
    """After the last step."""


class RankObservation(Value):
    """Observations in one process, or in one run of a reference."""

    readers: tuple[Reader, ...] = ()
    """One for each replica of the process."""
    variables: tuple[Variable, ...]
    copies: tuple[Copy, ...]
    """One for each replica of the process."""
    losses: Numbers
    """The loss that each call logged, over all replicas."""
    silenced: tuple[str, ...] = ()
    """Kinds of layers that computed as in inference, so that runs can be compared."""


class Whole(Value):
    """All examples of the dataset."""

    examples: Mapping[str, int]
    complete: bool
    """Whether the time sufficed for all of them."""


class Observation(Value):
    """The end of a run, and the observations in it."""

    failure: Reason | None = None
    """Why it did not come to its end."""
    ranks: tuple[RankObservation, ...] = ()
    """One for each process; of a reference, one for each of its runs."""
    whole: Whole | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ObservationRequest(TrialTask[Observation]):
    """A program to be run for a few steps, with an observer attached to each of its processes.

    The observer reads some steps of each replica's input, then has the program train on the first
    of them again and again. A reference trains one device on the same batches.
    """

    code = "autotune.engine.child.observe:observe"

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

    def payload(self) -> Mapping[str, Any]:
        return {**super().payload(), "reference_to": self.reference_to is not None}

    def prepare(self, folder: TrialFolder) -> None:
        super().prepare(folder)
        if self.reference_to is not None:
            folder.reference.symlink_to(self.reference_to.absolute())

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> Observation:
        if result.outcome is not Outcome.MEASURED:
            return Observation(failure=result.reason, seconds=result.wall_seconds)
        return Observation.model_validate(
            {
                "ranks": [each for answer in answers for each in answer["ranks"]],
                "whole": answers[0].get("whole"),
                "seconds": result.wall_seconds,
            }
        )
