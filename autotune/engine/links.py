"""Ports that a training listens on, and what the network between two hosts gives."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress
from typing import NamedTuple

PATIENCE = 2.0
"""Seconds to wait for a host that should answer."""
_PINGS = 9
_PIECE = bytes(2**16)
_SECONDS = 1.0
"""Longest time that data are sent for."""
_MOST = 64 * 2**20
"""Bytes that are sent at most."""


class Link(NamedTuple):
    """What the network gives from one host to another."""

    latency: float
    """Seconds there and back."""
    bandwidth: float
    """Bytes per second."""


def hold(held: ExitStack) -> int:
    """Return a port that the kernel gives nobody else until a stack is closed.

    TensorFlow's server can take it nevertheless: both say SO_REUSEADDR, and this socket does not
    listen.
    """
    holder = held.enter_context(socket.socket())
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("", 0))
    port: int = holder.getsockname()[1]
    return port


def answer(seconds: float) -> int:
    """Answer whoever measures, for some seconds in the background; return the port."""
    listener = socket.create_server(("", 0))
    threading.Thread(target=_serve, args=(listener, seconds), daemon=True).start()
    port: int = listener.getsockname()[1]
    return port


def measure(address: str, port: int) -> Link | None:
    """Return what the network gives to a host that answers; None if it does not."""
    with suppress(OSError), socket.create_connection((address, port), PATIENCE) as there:
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        latency = min(_ping(there) for _ in range(_PINGS))
        begun, sent = time.monotonic(), 0
        while sent < _MOST and time.monotonic() - begun < _SECONDS:
            there.sendall(_PIECE)
            sent += len(_PIECE)
        there.shutdown(socket.SHUT_WR)
        there.settimeout(PATIENCE + _SECONDS)
        while there.recv(1):  # it closes when everything has arrived
            pass
        return Link(latency, sent / (time.monotonic() - begun))
    return None


def _ping(there: socket.socket) -> float:
    begun = time.monotonic()
    there.sendall(b"?")
    there.recv(1)
    return time.monotonic() - begun


def _serve(listener: socket.socket, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    with listener:
        while (left := deadline - time.monotonic()) > 0:
            listener.settimeout(left)
            with suppress(OSError):
                there, _ = listener.accept()
                threading.Thread(target=_receive, args=(there,), daemon=True).start()


def _receive(there: socket.socket) -> None:
    with there, suppress(OSError):
        there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there.settimeout(PATIENCE + _SECONDS)
        for _ in range(_PINGS):
            there.sendall(there.recv(1))
        while there.recv(2**16):
            pass
