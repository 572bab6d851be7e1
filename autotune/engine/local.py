"""The engine that runs trials on this machine, in processes forked from one that has TensorFlow."""

import json
import os
import shutil
import sys
import tempfile
import time
import weakref
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any, Self, cast

from autotune.disk import EXIT_CODE, NEXT_STEP
from autotune.engine.base import A, Engine, HostTask, RunResult, Task, Watch, go_on
from autotune.engine.events import SCRATCH, STACK_SIGNAL, EventReader, TrialFolder, last_lines
from autotune.engine.fork_client import ForkClient
from autotune.engine.load import Counters, Load, MemoryGauge, between, kernel_kills, read_counters
from autotune.engine.lock import Notify, exclusive, flocked
from autotune.engine.tasks import DevicesRequest, TrialRequest, trial_in, why_ended
from autotune.engine.trial_run import (
    Environment,
    Exit,
    MemoryUse,
    Report,
    TrialRun,
    WorkerGroup,
    WorkersLost,
    exit_of,
    is_of_the_disk,
)
from autotune.errors import EngineError, OutputError
from autotune.machine import Machine, held_ports
from autotune.program import CACHES
from autotune.reason import Exited, KernelKilled, Killed, Raised, Reason, ReasonKind
from autotune.strategies import Role, tf_config

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Which GPUs a process may use, by their numbers or ids; nothing beside them exists for it."""
_NEW = "autotune-new-"
"""Begins the name of a folder that is not locked yet."""
_LOCKED = "autotune-host-"
_STACK_SECONDS = 0.2
_STARTS = 3
"""How often the process that imports TensorFlow is started when it is killed meanwhile."""


class ProcessEngine(Engine):
    """Tells processes what to do through the folder of a trial, and reads their answers there."""

    _machine: Machine | None = None

    def machine(self) -> Machine:
        self._machine = self._machine or self.on_hosts(DevicesRequest())
        return self._machine

    def execute(self, task: Task[A], watch: Watch = go_on) -> A:
        if isinstance(task, HostTask):
            return cast("A", self.on_hosts(task))
        trial = trial_in(task)
        if trial is None:
            return task.not_offered()
        folder = TrialFolder(trial.folder).create()
        task.prepare(folder)
        begun = self.now()
        result = self.run_trial(trial, watch, folder)
        result = result.model_copy(update={"wall_seconds": self.now() - begun})
        return task.answer(result, answers_in(folder, len(trial.roles)))

    @abstractmethod
    def on_hosts(self, task: HostTask[A]) -> A: ...
    @abstractmethod
    def run_trial(self, trial: TrialRequest, watch: Watch, folder: TrialFolder) -> RunResult:
        """Run the processes of a trial until something ends them."""

    def now(self) -> float:
        return time.monotonic()


class LocalGroup(WorkerGroup):
    """Worker processes of this machine.

    Args:
        environments: Variables of each by its position in the run, beside the server's; None
            removes one.
        memory: Bytes that all may hold together, at most what is free; None takes most of that.
    """

    def __init__(
        self,
        server: ForkClient,
        folder: TrialFolder,
        environments: Mapping[int, Environment],
        memory: int | None,
    ) -> None:
        self._server = server
        self._folder = folder
        self._environments = environments
        self._pids: dict[int, int] = {}
        self._readers = {i: EventReader(folder.events(i)) for i in environments}
        self._gauge = MemoryGauge(server.process.pid, memory)
        self._kills = kernel_kills()

    def start(self) -> None:
        for index, environment in self._environments.items():
            order = {
                "folder": str(self._folder.path),
                "index": index,
                "directory": str(Path.cwd()),
                "path": [*map(str, sys.path)],
                "environment": environment,
            }
            self._pids[index] = self._server.fork(order)

    def listen(self, seconds: float) -> list[Report]:
        self._server.listen(seconds)
        return [
            Report(member, event)
            for member, reader in self._readers.items()
            for event in reader.read()
        ]

    def exits(self) -> Mapping[int, Exit]:
        known = self._server.exits
        gone = {i: known[pid] for i, pid in self._pids.items() if pid in known}
        for_memory = bool(gone) and kernel_kills() > self._kills
        return {i: exit_of(status, for_memory=for_memory) for i, status in gone.items()}

    def memory(self) -> MemoryUse:
        exceeded = self._gauge.exceeded()
        return MemoryUse(self._gauge.peak, self._gauge.most, exceeded)

    def last_words(self, member: int, *, stack: bool = False) -> str:
        if stack:
            with suppress(ProcessLookupError, KeyError):
                os.kill(self._pids[member], STACK_SIGNAL)
                time.sleep(_STACK_SECONDS)
        with suppress(OSError), self._folder.output(member).open("rb") as output:
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - 20_000))
            return last_lines(output.read().decode(errors="replace"))
        return ""

    def end(self) -> None:
        self._server.end_children()


class LocalEngine(ProcessEngine):
    """Runs trials as processes of this machine, forked from one that has imported TensorFlow.

    Entering the engine starts that process in the background; only what needs it waits for it.

    Args:
        environment: Variables of all processes, beside those of this one; None removes one.
    """

    def __init__(self, environment: Environment | None = None) -> None:
        self._scratch = Scratch()
        # TensorFlow leaves a file for each function that it compiles where a process is ended.
        self._temporary = self._scratch.path / "tmp"
        self._temporary.mkdir()
        self._environment: Environment = {"TMPDIR": str(self._temporary), **(environment or {})}
        self.server: ForkClient | None = None
        """The process that has imported TensorFlow; None before it was first needed."""
        self._reserved = False
        self._counters: Counters | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    @contextmanager
    def reserved(self, what: str, notify: Notify, seconds: float | None = None) -> Iterator[None]:
        if self._reserved:
            yield
            return
        with exclusive(what, notify, seconds):
            self._reserved = True
            try:
                yield
            finally:
                self._reserved = False

    def load(self) -> Load | None:
        last, self._counters = self._counters, read_counters()
        return between(last, self._counters) if last else None

    def on_hosts(self, task: HostTask[A]) -> A:
        """Do a task in a process of its own; a second one does it where the first was killed.

        No trial runs meanwhile, so the kill may have been meant for another process.
        """
        folder, result = self._attempt(task)
        by_kill = isinstance(result.reason, Killed) and result.reason.signal == SIGKILL
        by_kernel = isinstance(result.reason, KernelKilled)
        if by_kill or by_kernel or result.reason.kind == ReasonKind.ORPHANED:
            folder, result = self._attempt(task)
        if _is_of_the_disk(result.reason):
            raise OutputError(
                f"{folder.path.parent} cannot be used: a process {why_ended(result)}.",
                NEXT_STEP,
            )
        return task.answer(result, answers_in(folder, 1))

    def run_trial(self, trial: TrialRequest, watch: Watch, folder: TrialFolder) -> RunResult:
        with held_ports(len(trial.roles)) as ports:
            addresses = [f"127.0.0.1:{port}" for port in ports]
            environments = dict(enumerate(environments_of(trial.roles, addresses)))
            group = self.group(folder, environments, trial.limits.memory)
            result = TrialRun(trial.roles, trial.limits, group, watch).run()
        self.remove_caches()
        return result

    def start(self) -> ForkClient:
        """Return the fork server, a new one unless one is alive; it may not be ready yet."""
        if self.server is None or not self.server.alive:
            if self.server is not None:
                self.server.close()
            self.server = ForkClient(self._environment)
        return self.server

    def group(
        self,
        folder: TrialFolder,
        environments: Mapping[int, Environment],
        memory: int | None = None,
    ) -> LocalGroup:
        return LocalGroup(self._ready_server(), folder, environments, memory)

    def new_folder(self) -> TrialFolder:
        """Make a folder that goes when this is closed."""
        return TrialFolder(Path(tempfile.mkdtemp(dir=self._scratch.path)))

    def remove_caches(self) -> None:
        """Remove the files of examples that a process has left behind that was ended."""
        for prefix in (CACHES, SCRATCH):
            for each in self._temporary.glob(f"{prefix}*"):
                shutil.rmtree(each, ignore_errors=True)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
        self._scratch.remove()

    def _attempt(self, task: HostTask[Any]) -> tuple[TrialFolder, RunResult]:
        folder = self.new_folder()
        task.prepare(folder)
        group = self.group(folder, {0: {}})
        return folder, TrialRun((Role(),), task.limits, group).run()

    def _ready_server(self) -> ForkClient:
        for _ in range(_STARTS):
            server = self.start()
            with suppress(WorkersLost):
                server.wait_ready()
                return server
        raise EngineError(
            f"The process that imports TensorFlow was killed {_STARTS} times.",
            "Check the system log (dmesg) for out-of-memory kills.",
        )


class Scratch:
    """A new folder for temporary files, which goes with its owner, also if that was killed.

    What others have left that were killed is removed first.
    """

    def __init__(self) -> None:
        made = Path(tempfile.mkdtemp(prefix=_NEW))
        lock = _locked(made)
        self.path = made.rename(made.with_name(made.name.replace(_NEW, _LOCKED)))
        # Also without a call: when this is collected, or at the end of the process.
        self.remove = weakref.finalize(self, _remove, self.path, lock)
        for left in made.parent.glob(f"{_LOCKED}*"):
            if (free := _locked(left)) is not None:
                _remove(left, free)


def _locked(folder: Path) -> int | None:
    """Return a descriptor that locks a folder until it is closed; None if it is locked."""
    with suppress(OSError):  # It is gone, or another user's.
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        if flocked(file):
            return file
        os.close(file)
    return None


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def answers_in(folder: TrialFolder, count: int) -> list[Any]:
    """Return what each of some processes has left as its answer; nothing if any left none."""
    files = [folder.answers(index) for index in range(count)]
    if not all(each.exists() for each in files):
        return []
    return [json.loads(each.read_text(encoding="utf-8")) for each in files]


def environments_of(roles: Sequence[Role], addresses: Sequence[str]) -> list[Environment]:
    """Return the variables of each process. A TF_CONFIG of the tuner's never counts."""
    environments: list[Environment] = []
    for role in roles:
        config = tf_config(roles, addresses, role) if len(roles) > 1 else None
        # TensorFlow counts only the GPUs that this host may see, by what CUDA calls them.
        seen = os.environ.get(VISIBLE)
        names = seen.split(",") if seen else None
        gpus = [names[gpu].strip() if names else str(gpu) for gpu in role.gpus or ()]
        visible = {} if role.gpus is None else {VISIBLE: ",".join(gpus)}
        environments.append({"TF_CONFIG": config, **visible})
    return environments


def _is_of_the_disk(reason: Reason) -> bool:
    if isinstance(reason, Raised):
        return is_of_the_disk({"kind": reason.error, "message": reason.message})
    return isinstance(reason, Exited) and reason.code == EXIT_CODE
