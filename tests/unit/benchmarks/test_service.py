"""The service's benchmark: its load generator, and its table."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from benchmarks.service.load import Calls, burst
from benchmarks.service.table import HEAD, Row, table

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
REFUSAL = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"


def answer(connection: socket.socket, asked: list[str]) -> None:
    """Answer requests on a connection, in two pieces each."""
    with connection, suppress(OSError):
        while head := connection.recv(65536):
            path = head.split()[1].decode()
            asked.append(path)
            told = ANSWER if path == "/here" else REFUSAL
            for part in (told[:20], told[20:]):
                connection.sendall(part)


@pytest.fixture
def asked() -> list[str]:
    """The paths that were asked for."""
    return []


@pytest.fixture
def address(asked: list[str]) -> Iterator[str]:
    """A server that knows one path."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    given = (connection, asked)
                    threading.Thread(target=answer, args=given, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_every_answer_is_timed_once(address: str, asked: list[str]) -> None:
    """However it is cut into pieces; at least one call is made."""
    found = burst(address, Calls(paths=["/here"], key="key"), 0.0)
    assert (len(found.latencies), asked, found.last) == (1, ["/here"], b"hello")


def test_an_answer_that_is_no_success_ends_the_burst(address: str) -> None:
    with pytest.raises(RuntimeError, match="404"):
        burst(address, Calls(paths=["/here", "/there"], key="key"), 9.0)


def test_a_missed_goal_is_seen_in_the_table() -> None:
    """So is a reached one; what has no goal has no word."""
    rows = [
        Row(what="a", measured="1 s"),
        Row(what="b", measured="2 s", goal="1 s", reached=False),
        Row(what="c", measured="1 s", goal="1 s", reached=True),
    ]
    assert table(rows).removeprefix(HEAD).splitlines() == [
        "",
        "| a | 1 s |  |  |",
        "| b | 2 s | 1 s | MISSED |",
        "| c | 1 s | 1 s | reached |",
    ]
