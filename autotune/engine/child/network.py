"""Notes where a script asks another machine, as it does in every trial that has to download."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from types import ModuleType


@contextmanager
def network_noted(program: ModuleType) -> Iterator[list[int]]:
    """Give the lines of the script that are under way while Python connects to another machine.

    What a library of C connects to escapes this.
    """
    lines: list[int] = []
    mine, active = threading.get_ident(), True

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if active and event == "socket.connect" and _is_elsewhere(arguments[1]):
            # Many a download has threads of its own, none of which is in the script.
            lines.extend(program.lines_of(sys._current_frames()[mine])[:1])  # noqa: SLF001 - no other function tells

    sys.addaudithook(hear)
    try:
        yield lines
    finally:
        active = False


def _is_elsewhere(address: object) -> bool:
    if not isinstance(address, tuple):  # The path of a socket on this machine.
        return False
    host = str(address[0])
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
