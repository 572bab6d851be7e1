"""An engine between the search and the real one, for what only a service needs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from types import FrameType
from typing import Self

from autotune.api.work.messages import Message, RunBegun, RunOver
from autotune.api.work.orders import MOST_DEATHS
from autotune.config import Configuration
from autotune.machine import Machine
from autotune.reason import SetAside
from autotune.run.engine import (
    NOTHING,
    Engine,
    ObservationRequest,
    Outcome,
    RunResult,
    Tell,
    TrialRequest,
    Watch,
)
from autotune.run.load import Load
from autotune.run.observation import Observation
from autotune.value import Scalar
from autotune.workload import Workload, WorkloadFacts

_ASIDE = RunResult(
    outcome=Outcome.CRASHED,
    reason=SetAside(deaths=MOST_DEATHS),
)


class InterruptibleEngine(Engine):
    """Tells what runs, runs nothing after an interrupt, and leaves alone what is set aside.

    Python's own `KeyboardInterrupt` gets lost if it is raised within a callback or a destructor;
    this one comes again before the next run.

    Args:
        engine: The real one.
        tell: Is told before and after each run.
        aside: Configurations that are not run.
    """

    def __init__(
        self, engine: Engine, tell: Callable[[Message], None], aside: Collection[Configuration]
    ) -> None:
        self._engine = engine
        self.keeps_history = engine.keeps_history
        self._tell = tell
        self._aside = frozenset(aside)
        self._interrupted = False
        signal.signal(signal.SIGINT, self._interrupt)

    def __enter__(self) -> Self:
        """Enter the engine."""
        self._engine.__enter__()
        return self

    def reserved(self, what: str, tell: Tell) -> AbstractContextManager[None]:
        """Wait until nobody else is timing on the engine's hosts, then keep others waiting."""
        return self._engine.reserved(what, tell)

    def load(self) -> Load | None:
        """Return what other programs have taken of the cores since the last call."""
        return self._engine.load()

    def machine(self) -> Machine:
        """Return what the engine's trials run on."""
        self._check()
        return self._engine.machine()

    def inspect(
        self,
        workload: Workload,
        *,
        offered: Mapping[str, Scalar] = NOTHING,
        seconds: float = 60.0,
    ) -> WorkloadFacts:
        """Call the factories in a process of their own and report what they give."""
        self._check()
        return self._engine.inspect(workload, offered=offered, seconds=seconds)

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run one trial, unless its configuration is set aside."""
        self._check()
        if request.configuration in self._aside:
            return _ASIDE
        self._tell(RunBegun(configuration=request.configuration))
        result = self._engine.run(request, watch)
        self._tell(RunOver())
        return result

    def observe(self, request: ObservationRequest) -> Observation:
        """Look at a training, unless its configuration is set aside."""
        self._check()
        configuration = request.trial.configuration
        if configuration in self._aside:
            return Observation(failure=_ASIDE.reason)
        self._tell(RunBegun(configuration=configuration))
        seen = self._engine.observe(request)
        self._tell(RunOver())
        return seen

    def now(self) -> float:
        """Return the engine's clock in seconds."""
        return self._engine.now()

    def close(self) -> None:
        """End everything that the engine started; may be called twice."""
        self._engine.close()

    def _check(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._interrupted = True
        raise KeyboardInterrupt
