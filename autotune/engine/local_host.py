"""Processes of this host, forked from one that has imported TensorFlow."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from autotune.cluster import Role, tf_config
from autotune.engine import preflight
from autotune.engine.folder import SCRATCH, TrialFolder
from autotune.engine.forking import ForkClient, ForkServerDied
from autotune.engine.gang import ONE, Environment, Gang
from autotune.engine.orders import write_pickles
from autotune.engine.scratch import Scratch
from autotune.errors import EngineError
from autotune.machine import Machine
from autotune.program import CACHES
from autotune.value import Scalar
from autotune.workload import Workload, WorkloadFacts

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Which GPUs a process may use, by their numbers or ids; nothing beside them exists for it."""
_STARTS = 3
"""How often the process that imports TensorFlow is started when it is killed meanwhile."""


class LocalHost:
    """Starts gangs on this host, and keeps the process that they are forked from.

    Args:
        environment: Variables of all gangs, beside those of this process; None removes one.
    """

    def __init__(self, environment: Environment | None = None) -> None:
        self._scratch = Scratch()
        # TensorFlow leaves a file for each function that it compiles where a process is ended.
        self._temporary = self._scratch.path / "tmp"
        self._temporary.mkdir()
        self._environment: Environment = {"TMPDIR": str(self._temporary), **(environment or {})}
        self._server: ForkClient | None = None

    @property
    def server(self) -> ForkClient | None:
        """The process that has imported TensorFlow; None before it was first needed."""
        return self._server

    def start(self) -> ForkClient:
        """Return the fork server, a new one unless one is alive; it may not be ready yet."""
        if self._server is None or not self._server.alive:
            if self._server is not None:
                self._server.close()
            self._server = ForkClient(self._environment)
        return self._server

    def gang(
        self,
        folder: TrialFolder,
        task: str,
        environments: Mapping[int, Environment] = ONE,
        memory: int | None = None,
    ) -> Gang:
        """Return processes that can be started at once; see `Gang`.

        Raises:
            EngineError: TensorFlow cannot be imported.
        """
        return Gang(self._ready_server(), folder, task, environments, memory)

    def machine(self) -> Machine:
        """Return what this host offers, as TensorFlow sees it.

        Raises:
            EngineError: TensorFlow cannot list its devices.
        """
        return preflight.machine(self.gang, self.new_folder())

    def inspect(
        self, workload: Workload, offered: Mapping[str, Scalar], seconds: float
    ) -> WorkloadFacts:
        """Call the factories in a process of their own and report what they give.

        Raises:
            WorkloadError: A factory does not fulfil its contract.
        """
        folder = self.new_folder()
        write_pickles(folder, workload)
        return preflight.inspect(self.gang, folder, workload, offered, seconds)

    def new_folder(self) -> TrialFolder:
        """Make a folder that goes when this is closed."""
        return TrialFolder(Path(tempfile.mkdtemp(dir=self._scratch.path)))

    def remove_caches(self) -> None:
        """Remove the files of examples that a process has left behind that was ended."""
        for prefix in (CACHES, SCRATCH):
            for each in self._temporary.glob(f"{prefix}*"):
                shutil.rmtree(each, ignore_errors=True)

    def close(self) -> None:
        """End all processes and remove their files; may be called twice."""
        if self._server is not None:
            self._server.close()
        self._scratch.remove()

    def _ready_server(self) -> ForkClient:
        for _ in range(_STARTS):
            server = self.start()
            with suppress(ForkServerDied):
                server.wait_ready()
                return server
        raise EngineError(
            f"The process that imports TensorFlow was killed {_STARTS} times.",
            "Check the system log (dmesg) for out-of-memory kills.",
        )


def environments_of(roles: Sequence[Role], addresses: Sequence[str]) -> list[Environment]:
    """Return the variables of each process. A TF_CONFIG of the tuner's never counts.

    Args:
        roles: The processes.
        addresses: `host:port` of each.
    """
    environments: list[Environment] = []
    for role in roles:
        config = tf_config(roles, addresses, role) if len(roles) > 1 else None
        visible = {} if role.gpus is None else {VISIBLE: _names(role.gpus)}
        environments.append({"TF_CONFIG": config, **visible})
    return environments


def _names(gpus: tuple[int, ...]) -> str:
    """Return what CUDA calls some GPUs: TensorFlow counts only those that this host may see."""
    seen = os.environ.get(VISIBLE)
    names = seen.split(",") if seen else None
    return ",".join(names[gpu].strip() if names else str(gpu) for gpu in gpus)
