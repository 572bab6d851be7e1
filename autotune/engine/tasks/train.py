"""A training that is timed, as any number of processes run it, and tasks made of one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from autotune.config import Configuration
from autotune.engine.base import A, Limits, RunResult, Task
from autotune.engine.folder import TrialFolder
from autotune.learning import Learning, Unpredictable
from autotune.machine import Machine
from autotune.program import render
from autotune.reason import Outcome, Overdue, Phase
from autotune.strategies import Role, strategy
from autotune.workload import Workload, WorkloadFacts


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
