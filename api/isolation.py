"""A network namespace for a search, in which no other process reaches the servers of its own.

TensorFlow's worker server listens on every address and authenticates no caller. Within a
namespace of its own, every address is a loopback that only the search's processes see.

Nothing is imported here that starts threads: the system gives an ordinary user a namespace only
while the process has one thread.
"""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from enum import StrEnum
from pathlib import Path

from autotune.wire.errors import SettingsError

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_INTERFACE = struct.Struct("16sH22x")


class Isolation(StrEnum):
    """The operator's choice."""

    AUTO = "auto"
    """A network of its own where the system allows it."""
    REQUIRED = "required"
    """No search without one."""
    HAD = "had"
    """One of its own already, of the sandbox of uploaded code; no setting."""
    OFF = "off"
    """The machine's network, for workloads that read their data from elsewhere."""


def enter(wanted: str) -> str | None:
    """Give this process the network that the operator wants, as far as the system allows it.

    What it starts from now on shares it. The process must have one thread. Return why its network
    is the machine's, in a few words; None for one of its own.
    """
    if wanted == Isolation.HAD:
        return None
    shared = "as configured by the operator" if wanted == Isolation.OFF else refusal()
    if shared is None:
        _separate()
    return shared


def check() -> None:
    refused = refusal()
    if refused is not None:
        raise SettingsError(
            f"The system does not allow a separate network namespace: {refused}.",
            'Allow user namespaces to the service\'s user, or set isolation = "auto" and close '
            "the machine's ports.",
        )


def refusal() -> str | None:
    """Return why the system gives no such network; a process that ends at once finds it out.

    Half of it may be allowed and the rest not, and there is no way back from half of it.
    """
    pid, code = os.fork(), errno.EPERM
    if pid == 0:
        try:
            _separate()
            code = 0
        except OSError as exc:
            code = exc.errno or code
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return os.strerror(abs(code)) if code else None


def _separate() -> None:
    """Give this process a network of its own, and bring its loopback up."""
    try:
        _unshare(_NEW_NETWORK)
    except PermissionError:
        # An ordinary user may make one within a user namespace, and stays the same user there.
        user, group = os.geteuid(), os.getegid()
        _unshare(_NEW_USER | _NEW_NETWORK)
        Path("/proc/self/setgroups").write_bytes(b"deny")
        Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (user, user))
        Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (group, group))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        given = fcntl.ioctl(any_socket, _GET_FLAGS, _INTERFACE.pack(b"lo", 0))
        name, flags = _INTERFACE.unpack(given)
        fcntl.ioctl(any_socket, _SET_FLAGS, _INTERFACE.pack(name, flags | _UP))


def _unshare(what: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(what):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
