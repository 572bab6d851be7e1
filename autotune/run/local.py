"""The engine that runs trials on this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from autotune.cluster import Role, tf_config
from autotune.errors import EngineError
from autotune.learning import Learning
from autotune.machine import Machine, free_ports
from autotune.reason import Cause, KnownError
from autotune.run import preflight
from autotune.run.engine import (
    NOTHING,
    Engine,
    LearningRequest,
    ObservationRequest,
    RunResult,
    ScreeningRequest,
    Tell,
    TrialRequest,
    Watch,
)
from autotune.run.exclusive import exclusive
from autotune.run.folder import SCRATCH, TrialFolder
from autotune.run.forking import ForkClient, ForkServerDied
from autotune.run.gang import Gang
from autotune.run.load import Load, Meter
from autotune.run.observation import Observation
from autotune.run.orders import (
    learning,
    observation,
    prepare,
    prepare_learning,
    prepare_observation,
    prepare_screening,
    write_pickles,
)
from autotune.run.trial_run import TrialRun
from autotune.script import CACHES
from autotune.value import Scalar
from autotune.workload import Workload, WorkloadFacts

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Which GPUs a process may use, by their numbers or ids; nothing beside them exists for it."""
_STARTS = 3
"""How often the process that imports TensorFlow is started when it is killed meanwhile."""


class LocalEngine(Engine):
    """Runs trials as processes of this machine, forked from one that has imported TensorFlow.

    Entering the engine starts that process in the background; only what needs it waits for it.

    Args:
        environment: Variables of all trials, beside those of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._machine: Machine | None = None
        # No `with`: it lives as long as the engine.
        self._scratch = tempfile.TemporaryDirectory(prefix="autotune-")
        # TensorFlow leaves a file for each function that it compiles where a process is ended.
        self._temporary = Path(self._scratch.name) / "tmp"
        self._temporary.mkdir()
        self._environment = {"TMPDIR": str(self._temporary), **(environment or {})}
        self._server: ForkClient | None = None
        self._reserved = False
        self._meter = Meter()

    def __enter__(self) -> Self:
        """Begin to import TensorFlow in the background."""
        self._start_server()
        return self

    @contextmanager
    def reserved(self, what: str, tell: Tell) -> Iterator[None]:
        """Wait until no other search is timing on this machine, then keep others waiting."""
        if self._reserved:
            yield
            return
        with exclusive(what, tell):
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
            self._machine = preflight.machine(self._single, self._look_folder())
        return self._machine

    def inspect(
        self,
        workload: Workload,
        *,
        offered: Mapping[str, Scalar] = NOTHING,
        seconds: float = 60.0,
    ) -> WorkloadFacts:
        """Call the factories in a process of their own and report what they give."""
        folder = self._look_folder()
        write_pickles(folder, workload)
        return preflight.inspect(self._single, folder, workload, offered, seconds)

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run one trial until its watch stops it or something goes wrong."""
        return self._run(request, watch, prepare(request), _task(request))

    def observe(self, request: ObservationRequest) -> Observation:
        """Run a program for a few steps and report what its replicas read and how they trained."""
        folder = prepare_observation(request)
        task = "refer" if request.reference_to else "observe"
        result = self._run(request.trial, lambda _: None, folder, task)
        return observation(folder, result, len(request.trial.roles))

    def screen(self, request: ScreeningRequest, watch: Watch) -> RunResult:
        """Time settings in turn within one process, briefly."""
        return self._run(request.trial, watch, prepare_screening(request), "screen")

    def learn(self, request: LearningRequest) -> Learning:
        """Train for a while and tell what an example teaches at other batch sizes."""
        folder = prepare_learning(request)
        result = self._run(request.trial, lambda _: None, folder, "learn")
        return learning(folder, result, request.trial.configuration.global_batch)

    def now(self) -> float:
        """Return the host's monotonic clock in seconds."""
        return time.monotonic()

    def close(self) -> None:
        """End everything that this engine started; may be called twice."""
        if self._server is not None:
            self._server.close()
        self._scratch.cleanup()

    def _run(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        begun = time.monotonic()
        result = self._attempt(request, watch, folder, task)
        if isinstance(result.reason, KnownError) and result.reason.cause is Cause.PORT_TAKEN:
            folder.forget_run()
            result = self._attempt(request, watch, folder, task)
        self._remove_caches()
        return replace(result, wall_seconds=time.monotonic() - begun)

    def _attempt(
        self, request: TrialRequest, watch: Watch, folder: TrialFolder, task: str
    ) -> RunResult:
        environments, memory = environments_of(request.roles), request.limits.memory
        gang = Gang(self._ready_server(), folder, task, environments, memory)
        return TrialRun(request, gang, watch).run()

    def _single(self, folder: TrialFolder, task: str) -> Gang:
        """Return a process that is no part of a trial."""
        return Gang(self._ready_server(), folder, task)

    def _ready_server(self) -> ForkClient:
        for _ in range(_STARTS):
            server = self._start_server()
            with suppress(ForkServerDied):
                server.wait_ready()
                return server
        raise EngineError(
            f"The process that imports TensorFlow was killed {_STARTS} times.",
            "Check the system log (dmesg) for out-of-memory kills.",
        )

    def _start_server(self) -> ForkClient:
        """Return the fork server, a new one unless one is alive."""
        if self._server is None or not self._server.alive:
            if self._server is not None:
                self._server.close()
            self._server = ForkClient(self._environment)
        return self._server

    def _remove_caches(self) -> None:
        """Remove the files of examples that a process has left behind that was ended."""
        for prefix in (CACHES, SCRATCH):
            for each in self._temporary.glob(f"{prefix}*"):
                shutil.rmtree(each, ignore_errors=True)

    def _look_folder(self) -> TrialFolder:
        return TrialFolder(Path(tempfile.mkdtemp(dir=self._scratch.name)))


def environments_of(roles: tuple[Role, ...]) -> list[dict[str, str | None]]:
    """Return the variables of each process. A TF_CONFIG of the tuner's never counts."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(len(roles))]
    environments: list[dict[str, str | None]] = []
    for role in roles:
        config = tf_config(roles, addresses, role) if len(roles) > 1 else None
        visible = {} if role.gpus is None else {VISIBLE: _names(role.gpus)}
        environments.append({"TF_CONFIG": config, **visible})
    return environments


def _names(gpus: tuple[int, ...]) -> str:
    """Return what CUDA calls some GPUs: TensorFlow counts only those that the tuner may see."""
    seen = os.environ.get(VISIBLE)
    names = seen.split(",") if seen else None
    return ",".join(names[gpu].strip() if names else str(gpu) for gpu in gpus)


def _task(request: TrialRequest) -> str:
    if request.reads_out:
        return "read out"
    return "train" if request.exchanges else "train apart"
