"""A process that has imported TensorFlow and nothing else, and forks the processes of trials.

A forked process can train 0.6 s later, a fresh one needs 4 s. It has a program of its own, because
`multiprocessing`'s fork server imports the caller's `__main__` again, and because what TensorFlow
reads at its import is fixed per server. It must never run an operation, build a model or list
devices: TensorFlow would start threads, and every child forked after that hangs.

It sends and is sent dictionaries. `{"fork": {...}}` is answered by `{"pid": n}` and, when that
process is gone with everything that it started, by `{"exited": n, "status": s}`.
`{"kill": [n, ...]}` ends process groups. When the tuner goes, by whatever means, so does all.
"""

import ctypes
import gc
import os
import signal
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_BACKEND = "tensorflow"
OLDEST = {"TensorFlow": (2, 16), "Keras": (3, 8)}
"""The floors of pyproject.toml, which an installation without dependencies passes by.

Under MirroredStrategy Keras before 3.5 lets each replica train by itself, and before 3.8 it adds up
their gradients where it should average them.
"""
_ORPHANED = 1.0
"""Seconds between looks at whether the tuner still lives, should its pipe not tell."""
_PATIENCE = 5.0
"""Longest wait, in seconds, for killed strays to go."""


class ForkServer:
    def __init__(self, channel: Connection) -> None:
        self._channel = channel
        self._tuner = os.getppid()
        self._children: set[int] = set()
        self._wake, self._woken = socket.socketpair()
        self._woken.settimeout(0)

    def serve(self) -> None:
        """Serve until the tuner is gone, then end every child."""
        # The end of a child interrupts the wait for requests.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken.fileno(), warn_on_full_buffer=False)
        # The tuner closes its end when it goes, perhaps while something is sent to it.
        with suppress(EOFError, ConnectionError):
            while os.getppid() == self._tuner:
                if self._wake in wait([self._channel, self._wake], _ORPHANED):
                    self._wake.recv(4096)
                self._report_exits()
                while self._channel.poll():
                    request = self._channel.recv()
                    if "kill" in request:
                        self._kill(self._children & set(request["kill"]))
                    else:
                        self._fork(request["fork"])
        self._kill(self._children)
        for pid in self._children:
            os.waitpid(pid, 0)
        _end_strays()

    def _fork(self, order: Mapping[str, Any]) -> None:
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as exc:
            self._channel.send({"refused": str(exc)})
            return
        if pid == 0:
            self._become_child(order, server)
        self._children.add(pid)
        self._channel.send({"pid": pid})

    def _become_child(self, order: Mapping[str, Any], server: int) -> NoReturn:
        from autotune.engine.child import process  # noqa: PLC0415 - imported already, see main

        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (self._channel, self._wake, self._woken):
                each.close()
        finally:
            process.enter(order, server)

    def _report_exits(self) -> None:
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        for pid in [pid for pid in self._children if os.waitid(os.P_PID, pid, how)]:
            # The group first: while its leader is not reaped, its number cannot be another's.
            _kill_group(pid)
            status = os.waitpid(pid, 0)[1]
            self._children.remove(pid)
            if not self._children:
                _end_strays()
            self._channel.send({"exited": pid, "status": status})

    def _kill(self, pids: Iterable[int]) -> None:
        for pid in pids:
            _kill_group(pid)
            # The child may not have made its group yet.
            os.kill(pid, signal.SIGKILL)


def main(arguments: list[str]) -> None:
    channel = Connection(int(arguments[0]))
    os.set_inheritable(channel.fileno(), False)  # noqa: FBT003 - it takes no name
    # Orphans of a trial, whatever session they made for themselves, become children of this one.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        backend, old = _import_everything()
    except BaseException as exc:  # noqa: BLE001 - the tuner raises it where the user sees it
        channel.send({"failed": f"{type(exc).__name__}: {exc}"})
        return
    if backend != _BACKEND:
        channel.send({"backend": backend})
        return
    if old:
        channel.send({"old": old})
        return
    channel.send({"ready": os.getpid()})
    ForkServer(channel).serve()


def _import_everything() -> tuple[str, str]:
    """Return what Keras computes with, and what is too old; only without either all is imported."""
    backend = os.environ.get("KERAS_BACKEND") or _BACKEND
    if backend != _BACKEND:
        return backend, ""
    # What is imported stays: looking through it for garbage takes a quarter of the time.
    gc.disable()
    import keras  # noqa: PLC0415 - its import takes seconds: after the pipe

    backend = str(keras.backend.backend())  # Its file of settings may name another one too.
    old = ""
    if backend == _BACKEND:
        import tensorflow as tf  # noqa: PLC0415 - as above

        old = too_old({"TensorFlow": tf.__version__, "Keras": keras.__version__})
    if backend == _BACKEND and not old:
        # So that no child has to.
        from autotune.engine.child import inspect, observe, process, train  # noqa: F401, PLC0415

        # Pages that the collector does not touch stay shared with the children.
        gc.collect()
        gc.freeze()
        gc.enable()
    return backend, old


def too_old(versions: Mapping[str, str]) -> str:
    """Return the first package that is older than what autotune needs, with its version."""
    for name, version in versions.items():
        if tuple(map(int, version.split(".")[:2])) < OLDEST[name]:
            return f"{name} {version}"
    return ""


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _end_strays() -> None:
    """Kill what the trial's processes left behind, and wait until it is gone."""
    deadline = time.monotonic() + _PATIENCE
    while (strays := _own_children()) and time.monotonic() < deadline:
        for pid in strays:
            with suppress(PermissionError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)


def _own_children() -> list[int]:
    """Return the ids of this process's children; none where the kernel does not list them."""
    found = []
    for listing in Path("/proc/self/task").glob("*/children"):
        found += [int(pid) for pid in listing.read_text().split()]
    return found
