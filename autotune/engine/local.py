"""The engine that runs trials on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Self

from autotune.engine.engine import NOTHING, RunResult, Tell, TrialRequest, Watch
from autotune.engine.exclusive import exclusive
from autotune.engine.folder import TrialFolder
from autotune.engine.load import Load, Meter
from autotune.engine.local_host import LocalHost, environments_of
from autotune.engine.process_engine import ProcessEngine
from autotune.engine.trial_run import TrialRun
from autotune.machine import Machine, free_ports
from autotune.reason import Cause, KnownError
from autotune.value import Scalar
from autotune.workload import Workload, WorkloadFacts


class LocalEngine(ProcessEngine):
    """Runs trials as processes of this machine, forked from one that has imported TensorFlow.

    Entering the engine starts that process in the background; only what needs it waits for it.

    Args:
        environment: Variables of all trials, beside those of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.host = LocalHost(environment)
        """This machine, on which it starts processes."""
        self._machine: Machine | None = None
        self._reserved = False
        self._meter = Meter()

    def __enter__(self) -> Self:
        """Begin to import TensorFlow in the background."""
        self.host.start()
        return self

    @contextmanager
    def reserved(self, what: str, tell: Tell, seconds: float | None = None) -> Iterator[None]:
        """Wait until no other search is timing on this machine, then keep others waiting."""
        if self._reserved:
            yield
            return
        with exclusive(what, tell, seconds=seconds):
            self._reserved = True
            try:
                yield
            finally:
                self._reserved = False

    def load(self) -> Load | None:
        """Return what other programs have taken of this machine's cores since the last call."""
        return self._meter.read()

    def machine(self) -> Machine:
        """Return what this machine offers, as TensorFlow sees it."""
        if self._machine is None:
            self._machine = self.host.machine()
        return self._machine

    def inspect(
        self,
        workload: Workload,
        *,
        offered: Mapping[str, Scalar] = NOTHING,
        seconds: float = 60.0,
    ) -> WorkloadFacts:
        """Call the factories in a process of their own and report what they give."""
        return self.host.inspect(workload, offered, seconds)

    def execute(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        """Run the processes of a request until something ends them."""
        result = self._attempt(request, watch, folder, task)
        if isinstance(result.reason, KnownError) and result.reason.cause is Cause.PORT_TAKEN:
            folder.forget_run()
            result = self._attempt(request, watch, folder, task)
        self.host.remove_caches()
        return result

    def close(self) -> None:
        """End everything that this engine started; may be called twice."""
        self.host.close()

    def _attempt(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        addresses = [f"127.0.0.1:{port}" for port in free_ports(len(request.roles))]
        environments = dict(enumerate(environments_of(request.roles, addresses)))
        gang = self.host.gang(folder, task, environments, request.limits.memory)
        return TrialRun(request, gang, watch).run()
