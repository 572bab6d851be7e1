"""Processes of this host: who they are, and ending them without ever hitting another."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from autotune.api.values import Birth

MARKER = "AUTOTUNE_ATTEMPT"
"""Variable that all processes of an attempt inherit, whatever sessions they make."""
GONE_SECONDS = 8.0
"""Longest wait for killed processes to go; the system may still be freeing their memory."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STARTED = 19
"""Position of the start time in /proc/PID/stat, after the name."""


def this_host() -> str:
    """Return the boot and the process namespace, within which a process id means something."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def birth(pid: int) -> Birth | None:
    """Return who a process is, or None if it is gone."""
    with suppress(OSError, IndexError, ValueError):
        # The name may hold spaces and brackets.
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else Birth(pid=pid, started=int(fields[_STARTED]))
    return None


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent dies, by whatever means."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before
        os._exit(1)


def adopt_orphans() -> None:
    """Make orphans among this process's descendants its children, so that it can find them."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def marked(marker: str) -> list[Birth]:
    """Return the processes that carry the marker of an attempt, but for this one."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for pid in _pids():
        with suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(birth(pid))
    return [each for each in found if each and each.pid != os.getpid()]


def children() -> list[Birth]:
    """Return this process's children."""
    found = []
    for listing in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += [birth(int(pid)) for pid in listing.read_text("ascii").split()]
    return [each for each in found if each]


def end(process: Birth) -> None:
    """Kill a process and nothing else, even if its number is another's by now."""
    with suppress(ProcessLookupError, PermissionError):
        handle = os.pidfd_open(process.pid)
        try:
            # From here on the number cannot change its owner.
            if birth(process.pid) == process:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def end_all(find: Callable[[], list[Birth]], seconds: float = GONE_SECONDS) -> bool:
    """Kill whatever is found, again and again until nothing is; return whether that was reached."""
    deadline = time.monotonic() + seconds
    while found := find():
        for each in found:
            end(each)
            _reap(each.pid)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def reap_adopted() -> None:
    """Let go of all children that have ended, in a process that has none but adopted ones."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _pids() -> Iterator[int]:
    return (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
