"""The tuner's side of processes that serve it over a pipe, the fork server among them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any

import psutil

from autotune.engine.events import last_lines
from autotune.engine.fork_server import OLDEST
from autotune.engine.trial_run import WorkersLost
from autotune.errors import EngineError
from autotune.reason import PlainReason, ReasonKind

# The tuner's own module path finds the same autotune and the same TensorFlow as the tuner does,
# and `-c` leaves no `__main__` that a process of the user's could try to import again.
_PROGRAM = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "importlib.import_module(sys.argv[1]).main(sys.argv[2:])"
)


class Helper:
    """Starts a module's `main` with the number of its end of the pipe, without waiting for it."""

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str | None]) -> None:
        # No `with`: it lives as long as the process.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.channel, theirs = Pipe()
        given = [module, str(theirs.fileno()), *arguments, json.dumps([*map(str, sys.path)])]
        variables = {**os.environ, **environment}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *given],
                env={name: value for name, value in variables.items() if value is not None},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )

    def last_words(self) -> str:
        """Return the last line that it printed."""
        self._log.seek(0)
        return last_lines(self._log.read().decode(errors="replace"), 1)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, and kill it where that takes too long."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()


QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}
"""Unless the user says otherwise: TensorFlow's errors go to a trial's output, notices do not."""
_IMPORT_SECONDS = 300.0
_GO_SECONDS = 30.0
_ANSWER_SECONDS = 60.0


class ForkClient(Helper):
    """Starts a fork server, at once and without waiting for it, and talks to it."""

    def __init__(self, environment: Mapping[str, str | None]) -> None:
        self.exits: dict[int, int] = {}
        """Wait status of every child that is gone with all it started."""
        self._unanswered = 0
        self._newest = 0
        self._live: list[int] = []
        self._ready = False
        quiet = {name: os.environ.get(name, value) for name, value in QUIET.items()}
        super().__init__("autotune.engine.fork_server", environment={**quiet, **environment})

    @property
    def alive(self) -> bool:
        return not self.channel.closed and self.process.poll() is None

    def wait_ready(self) -> None:
        """Wait until the server has imported TensorFlow."""
        deadline = time.monotonic() + _IMPORT_SECONDS
        try:
            while not self._ready:
                if time.monotonic() > deadline:
                    raise _unusable(f"it took longer than {_IMPORT_SECONDS:.0f} s")
                self.listen(0.5)
        except WorkersLost as exc:
            if self.process.wait(_GO_SECONDS) == -signal.SIGKILL:
                raise
            raise _unusable(self.last_words() or "the process died") from exc

    def fork(self, order: Mapping[str, Any]) -> int:
        self._unanswered += 1
        self._send({"fork": order})
        self._wait_for_answers()
        # It may be gone already, and both may have been notified at once.
        return self._newest

    def end_children(self) -> None:
        """End every child with all that it started, and wait until nothing is left of them."""
        try:
            self._wait_for_answers()
            self._send({"kill": self._live})
            deadline = time.monotonic() + _GO_SECONDS
            while self._live and time.monotonic() < deadline:
                self.listen(0.2)
        except WorkersLost:
            self.process.kill()
            self._live = [pid for pid in self._live if not _is_gone(pid)]
        if self._live:
            raise EngineError(
                f"Process {self._live[0]} of a trial cannot be killed.",
                "It is blocked on a device or a file system; resolve that first.",
            )

    def _wait_for_answers(self) -> None:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while self._unanswered:
            if time.monotonic() > deadline:
                raise WorkersLost(PlainReason(kind=ReasonKind.ORPHANED))
            self.listen(0.5)

    def listen(self, seconds: float) -> None:
        """Take in what the server says, waiting at most that long for it to say something."""
        try:
            while self.channel.poll(seconds):
                self._note(self.channel.recv())
                seconds = 0.0
        except (EOFError, OSError) as exc:
            raise WorkersLost(PlainReason(kind=ReasonKind.ORPHANED)) from exc

    def close(self) -> None:
        """End the server, and with it whatever still runs; may be called twice."""
        self.channel.close()
        if not self._ready:
            # It would notice only after its import, and has no children yet.
            self.process.kill()
        self.wait(_GO_SECONDS)

    def _note(self, message: Mapping[str, Any]) -> None:
        if "exited" in message:
            self.exits[message["exited"]] = message["status"]
            self._live.remove(message["exited"])
        elif "pid" in message:
            self._unanswered -= 1
            self._newest = message["pid"]
            self._live.append(self._newest)
            # A number may come round again.
            self.exits.pop(message["pid"], None)
        elif "ready" in message:
            self._ready = True
        elif "backend" in message:
            raise EngineError(
                f"Keras computes with {message['backend']} in this environment; tf.distribute "
                "needs TensorFlow.",
                'Set KERAS_BACKEND=tensorflow, or "backend" in ~/.keras/keras.json.',
            )
        elif "old" in message:
            name, version = message["old"].split()
            floor = ".".join(map(str, OLDEST[name]))
            why = ", the first that trains several replicas rightly" if name == "Keras" else ""
            raise EngineError(
                f"{name} {version} is too old: autotune needs {name} {floor} or newer{why}.",
                f"Run `pip install '{name.lower()}>={floor}'`, or use another environment.",
            )
        elif "failed" in message:
            raise _unusable(message["failed"])
        else:
            self._unanswered -= 1
            raise EngineError(
                f"The system cannot start another process: {message['refused']}.",
                "Stop other programs, or raise the process limit (ulimit -u).",
            )

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self.channel.send(message)
        except OSError as exc:
            raise WorkersLost(PlainReason(kind=ReasonKind.ORPHANED)) from exc


def _unusable(why: str) -> EngineError:
    return EngineError(
        f"TensorFlow cannot be imported: {why}.",
        'Check that `python -c "import tensorflow, keras"` works in this environment.',
    )


def _is_gone(pid: int) -> bool:
    """End the group of a child whose server is dead, and wait for it; return whether it went."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    deadline = time.monotonic() + _GO_SECONDS
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
    return True
