"""A machine that takes no time: an engine whose speeds come from a formula or a table.

Its observed trainings have no fault, or one.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Any, cast

from autotune.config import Configuration
from autotune.engine.base import A, Engine, RunResult, Stop, Task, Watch, go_on
from autotune.engine.load import Load
from autotune.engine.lock import Notify
from autotune.engine.tasks import (
    Copy,
    DevicesRequest,
    InspectionRequest,
    LearningRequest,
    Numbers,
    Observation,
    ObservationRequest,
    RankObservation,
    Reader,
    TrialRequest,
    Variable,
)
from autotune.learning.efficiency import BATCHES, GradientProbe, Learning, Moments, UpdateRule
from autotune.machine import Host, Machine
from autotune.reason import Killed, Message, Outcome
from autotune.shared_values import Window
from autotune.workload import WorkloadFacts

WINDOW_SECONDS = 0.1
MAX_WINDOWS = 1000
"""A watch that is still not content after so many is a mistake of the test."""
START: Numbers = (1.0, 2.0)
END: Numbers = (1.5, 1.0)
ASTRAY: Numbers = (0.5, 3.0)
NEXT = 1e-9
"""What other roundings change."""


class Fault(StrEnum):
    """What can be wrong with a distributed training."""

    DRIFT = "drift"
    DIES = "dies"


Speed = Callable[[Configuration], float | Stop]
"""Examples per second of a configuration, or how its trial ends."""
Faults = Callable[[Configuration], Fault | None]


class FakeEngine(Engine):
    """Runs nothing, answers as if it had; the same seed gives the same noise.

    Args:
        speed: The truth about each configuration.
        held: The same with its input held in memory; None: the input takes no time.
        apart: The same with replicas that exchange nothing; None: the exchange takes no time.
        between: Standard deviation of log(rate) between runs.
        within: Standard deviation of log(rate) between the windows of a run.
        start: Seconds from a request to the end of the first step, for each worker.
        tracing: What the first step takes beside that, for each replica of a worker.
        machine: What it claims to be.
        facts: What it claims to know of any workload.
        faults: What is wrong with the training of a configuration, if anything is.
        load: What it claims that others took since they were last asked for.
        learning: What it claims to have learned from gradients; None: it offers no look at them.
        bandwidth: Bytes per second between hosts that it claims.
        seed: Of the noise.
    """

    def __init__(
        self,
        speed: Speed,
        *,
        held: Speed | None = None,
        apart: Speed | None = None,
        between: float = 0.05,
        within: float = 0.03,
        start: float = 1.0,
        tracing: float = 0.0,
        machine: Machine | None = None,
        facts: WorkloadFacts | None = None,
        faults: Faults = lambda _: None,
        load: Callable[[], Load | None] = lambda: None,
        learning: Learning | None = None,
        bandwidth: float | None = None,
        seed: int = 0,
    ) -> None:
        self._speed = speed
        self._held = held or speed
        self._apart = apart or self._held
        self._between = between
        self._within = within
        self._start = start
        self._tracing = tracing
        self._machine = machine or FAKE_MACHINE
        self._facts = facts or FAKE_FACTS
        self._faults = faults
        self._load = load
        self._learning = learning
        self._bandwidth = bandwidth
        self._random = random.Random(seed)
        self._time = 0.0
        self.requests: list[TrialRequest] = []
        self.observed: list[ObservationRequest] = []
        self.inspections: list[LearningRequest] = []
        self.reservations: list[str] = []
        self.closed = False

    def reserved(
        self, what: str, notify: Notify, seconds: float | None = None
    ) -> AbstractContextManager[None]:
        del notify, seconds
        self.reservations.append(what)
        return nullcontext()

    def load(self) -> Load | None:
        return self._load()

    def bandwidth(self) -> float | None:
        return self._bandwidth

    def machine(self) -> Machine:
        return self._machine

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        """Play a task: each kind has a method, which a test may override."""
        answer: Any
        match task:
            case TrialRequest():
                answer = self.run(task, watch)
            case ObservationRequest():
                answer = self.observe(task)
            case LearningRequest():
                answer = self.learn(task)
            case InspectionRequest():
                answer = self.inspect(task)
            case DevicesRequest():
                answer = self.machine()
            case _:
                answer = task.not_offered()
        return cast("A", answer)

    def inspect(self, request: InspectionRequest) -> WorkloadFacts:
        del request
        return self._facts

    def learn(self, request: LearningRequest) -> Learning:
        self.inspections.append(request)
        self._time += request.seconds
        return self._learning or request.not_offered()

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Answer as the formula says, with noise, on a clock of its own."""
        self.requests.append(request)
        request.folder.mkdir(parents=True)
        began = self._time
        self._time += self._start_of(request)
        speed = self._held if request.held else self._speed
        truth = (speed if request.exchanges else self._apart)(request.configuration)
        if isinstance(truth, Stop):
            return RunResult(**truth._asdict(), wall_seconds=self._time - began)
        rate = truth / request.configuration.global_batch
        return self._watched(rate, watch, began, request)

    def observe(self, request: ObservationRequest) -> Observation:
        """Show a training with its fault, after as long as its start takes."""
        self.observed.append(request)
        start = self._start_of(request.trial)
        self._time += start
        fault = self._faults(request.trial.configuration)
        return observation(request, fault, start)

    def now(self) -> float:
        return self._time

    def close(self) -> None:
        self.closed = True

    def _traced(self, request: TrialRequest) -> float:
        return self._tracing * request.configuration.replicas_per_worker

    def _start_of(self, request: TrialRequest) -> float:
        return self._start * len(request.roles) + self._traced(request)

    def _watched(
        self, steps_per_second: float, watch: Watch, began: float, request: TrialRequest
    ) -> RunResult:
        mean_rate = steps_per_second * math.exp(self._random.gauss(0, self._between))
        windows: list[Window] = []
        stop = None
        while stop is None:
            windows.append(self._window(mean_rate))
            stop = watch(tuple(windows))
            if len(windows) > MAX_WINDOWS:
                raise AssertionError(f"the watch did not stop after {MAX_WINDOWS} windows")
        return RunResult(
            **stop._asdict(),
            windows=tuple(windows),
            start_seconds=self._start / 2,
            first_step_seconds=self._start / 2 + self._traced(request),
            filled=request.fill.examples if request.fill else None,
            wall_seconds=self._time - began,
            peak_memory=2**29,
        )

    def _window(self, mean_rate: float) -> Window:
        rate = mean_rate * math.exp(self._random.gauss(0, self._within))
        steps = max(math.ceil(mean_rate * WINDOW_SECONDS), 1)
        window = Window(steps, steps / rate)
        self._time += window.seconds
        return window


def observation(
    request: ObservationRequest, fault: Fault | None = None, seconds: float = 0.0
) -> Observation:
    """Return what is seen of a request's run, or of its reference."""
    if fault is Fault.DIES:
        return Observation(failure=Killed(process="worker 1", signal=9), seconds=seconds)
    if request.reference_to is not None:
        ends = [END, tuple(each + NEXT for each in END), tuple(each - NEXT for each in END)]
        ranks = [_rank([end], request.calls) for end in ends]
    else:
        ranks = [*_group(request, fault)]
    return Observation(ranks=tuple(ranks), seconds=seconds)


def _group(request: ObservationRequest, fault: Fault | None) -> Iterator[RankObservation]:
    configuration = request.trial.configuration
    each = configuration.replicas_per_worker
    for first in range(0, configuration.replicas, each):
        replicas = range(first, first + each)
        ends = [ASTRAY if fault is Fault.DRIFT and n == 1 else END for n in replicas]
        yield _rank(ends, request.calls, tuple(_reader(request, n) for n in replicas))


def _rank(ends: list[Numbers], calls: int, readers: tuple[Reader, ...] = ()) -> RankObservation:
    variable = Variable(
        name="kernel",
        kind="trainable",
        epsilon=1e-7,
        copies=len(ends),
        mirrored=len(ends) > 1,
        apart=False,
    )
    return RankObservation(
        readers=readers,
        variables=(variable,),
        copies=tuple(Copy(start=(START,), end=(end,)) for end in ends),
        losses=(1.0,) * calls,
    )


def _reader(request: ObservationRequest, replica: int) -> Reader:
    size = request.trial.configuration.per_replica_batch
    return Reader(
        sizes=(size,) * request.reads,
        elements=("float32 [100]",),
        examples={f"{replica}-{i}": 1 for i in range(size * request.reads)},
    )


def table(rates: Mapping[Configuration, float | Stop]) -> Speed:
    """Return the speeds of a recorded table; what it does not hold has failed."""
    missing = Stop(outcome=Outcome.FAILED, reason=Message(text="not in the table"))
    return lambda configuration: rates.get(configuration, missing)


def fake_machine(*, hosts: int = 1, **host: Any) -> Machine:
    """Return a machine of equal hosts, with fields that are not those of `FAKE_MACHINE`."""
    each = Host(**{"cpus": 2, "memory": 8 * 2**30, "processor": "fake", **host})
    return Machine(hosts=(each,) * hosts, python="3.11.0", tensorflow="2.21.0", keras="3.15.0")


def fake_learning(scale: float) -> Learning:
    """Return what gradients with a noise scale of so many examples tell at a batch of 32."""
    progress = tuple(1 / math.sqrt(1 + scale / batch) for batch in BATCHES)
    moments = Moments(trace=scale, square=1.0, progress=progress)
    probe = GradientProbe(step=100, whole=moments, without=(moments,) * 8)
    return Learning(batch=32, rule=UpdateRule.NORMALIZED, probes=(probe,))


FAKE_MACHINE = fake_machine()
FAKE_FACTS = WorkloadFacts(
    examples=10_000,
    example_bytes=400,
    element="(float32 (100,), int32 ())",
    weights=7_000,
    gradient_bytes=28_000,
    repeatable=True,
    optimizer="Adam",
    loss="sparse_categorical_crossentropy",
)
