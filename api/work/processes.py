"""Processes of this host: their identity, and ending them without ever hitting another."""

import ctypes
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from autotune.machine import boot_id

MARKER = "AUTOTUNE_ATTEMPT"
"""Variable that all processes of an attempt inherit, whatever sessions they make."""
GONE_SECONDS = 8.0
"""Longest wait for killed processes to go; the system may still be freeing their memory."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def this_host() -> str:
    """Return the boot and the process namespace, within which a process id means something."""
    return f"{boot_id()} {Path('/proc/self/ns/pid').readlink()}"


def identity(pid: int) -> tuple[int, int] | None:
    """Return a process's number and when it started, or None if it is gone.

    The start is in clock ticks from the boot, as the time of day may be set while the process runs;
    with it a process is never mistaken for a later one of the same number.
    """
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        seconds = process.create_time() - psutil.boot_time()
        if _lives(process):
            return pid, round(seconds * os.sysconf("SC_CLK_TCK"))
    return None


def left(marker: str, pid: int | None, started: int | None) -> list[psutil.Process]:
    """Return what is left of an attempt: what has its marker, and its recorded process."""
    found = marked(marker)
    with suppress(psutil.Error):
        recorded = psutil.Process(pid or 0)
        if identity(recorded.pid) == (pid, started):
            found.append(recorded)
    return found


def marked(marker: str) -> list[psutil.Process]:
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if each.environ().get(MARKER) == marker and each.pid != os.getpid() and _lives(each):
                found.append(each)
    return found


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if _lives(each)]


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent dies, by whatever means."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before
        os._exit(1)


def adopt_orphans() -> None:
    """Make orphans among this process's descendants its children, so that it can find them."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all(find: Callable[[], list[psutil.Process]]) -> bool:
    """Kill whatever is found, again and again until nothing is; return whether that was reached.

    A process whose number is another's by now is spared.
    """
    deadline = time.monotonic() + GONE_SECONDS
    while found := find():
        for each in found:
            with suppress(psutil.Error):
                each.kill()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def reap_adopted() -> None:
    """Let go of all children that have ended, in a process that has none but adopted ones."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    return False
