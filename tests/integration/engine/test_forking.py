"""What the tuner makes of what a fork server says."""

from __future__ import annotations

import pytest

from autotune.engine import helper
from autotune.engine.fork_client import ForkClient

SERVER = """
import socket, sys
channel = socket.socket(fileno=int(sys.argv[2]))
channel.recv(4096)
channel.sendall(b'{"pid": 7}\\n{"exited": 7, "status": 512}\\n')
channel.recv(4096)
"""
"""Answers the first order by a child that is gone at once."""


def test_a_child_that_is_gone_at_once_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its start and its end may come together, and are told apart."""
    monkeypatch.setattr(helper, "_PROGRAM", SERVER)
    client = ForkClient({})
    try:
        assert client.fork({}) == 7
        assert client.exits == {7: 512}
    finally:
        client.close()
