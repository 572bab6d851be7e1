"""Connections that say nothing, over real sockets: they are ended, and keep nobody out."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Thread
from typing import Any

import pytest
import uvicorn

from autotune.api.http import connections
from autotune.api.http.connections import Connection, most_connections, note_error

ANSWER = b"HTTP/1.1 200 OK"
Open = Callable[[bytes], socket.socket]


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Read the body and answer."""
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        pass
    body = b"x" * int(scope["path"].strip("/") or 0)
    length = str(len(body)).encode()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]}
    )
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[uvicorn.Server, Any]]:
    """A server that is patient for half a second, and takes in eight; and its address."""
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "READ_SECONDS"):
        monkeypatch.setattr(connections, name, 0.5)
    config = uvicorn.Config(
        echo, http=Connection, limit_concurrency=9, lifespan="off", log_config=None
    )
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server, listener.getsockname()
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture
def opened(served: tuple[uvicorn.Server, Any]) -> Iterator[Open]:
    """Opens connections to that server."""
    found: list[socket.socket] = []

    def connect(said: bytes) -> socket.socket:
        found.append(socket.create_connection(served[1], timeout=60))
        found[-1].sendall(said)
        return found[-1]

    yield connect
    for each in found:
        each.close()


GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize(
    "said", [b"", b"GET / HT", POST, POST + b"12345", GET + b"GET /"], ids=repr
)
def test_a_connection_that_does_not_go_on_is_ended(opened: Open, said: bytes) -> None:
    """Whether it stops before the head of a request, within it, in the body, or after another."""
    connection = opened(said)
    while connection.recv(4096):  # Until it is closed; the socket's own timeout fails the test.
        pass


def test_every_byte_does_not_buy_more_time(opened: Open) -> None:
    """A head that comes drop by drop is ended as well."""
    connection = opened(b"GET / HTTP/1.1\r\n")

    def drip() -> None:
        for _ in range(600):
            connection.sendall(b"X-Y: z\r\n")
            time.sleep(0.05)

    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        drip()


def test_a_request_that_comes_in_parts_is_answered(opened: Open) -> None:
    """In time, that is."""
    connection = opened(POST)
    connection.sendall(b"0123456789")
    assert connection.recv(4096).startswith(ANSWER)


@pytest.mark.parametrize("times", [1, 3])
def test_who_does_not_read_the_answer_is_left(
    served: tuple[uvicorn.Server, Any], opened: Open, times: int
) -> None:
    """However many requests it has sent: what is public is large enough to keep a connection."""
    deaf = opened(b"GET /20000000 HTTP/1.1\r\nHost: localhost\r\n\r\n" * times)
    state = served[0].server_state
    deadline = time.monotonic() + 300
    while not state.total_requests or state.connections:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    deaf.close()


def test_requests_that_come_at_once_are_answered_in_turn(opened: Open) -> None:
    """Each by its own answer, and none is lost."""
    ask = b"".join(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % size for size in range(1, 31))
    connection = opened(ask)
    heard = b""
    while len(lengths := re.findall(rb"content-length: (\d+)", heard)) < 30:
        more = connection.recv(65536)
        assert more
        heard += more
    assert [int(each) for each in lengths] == list(range(1, 31))


def test_idle_connections_keep_nobody_out(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The silent ones make room, however many there are."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1000.0)
    silent = [opened(b"") for _ in range(40)]
    assert opened(GET).recv(4096).startswith(ANSWER)
    del silent


def test_the_limit_of_open_files_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """To what the system allows, and connections stay below it."""
    limits = [(1024, 4096)]
    monkeypatch.setattr("resource.getrlimit", lambda _: limits[-1])
    monkeypatch.setattr("resource.setrlimit", lambda _, given: limits.append(given))
    assert most_connections(2000) == 2000
    assert limits[-1] == (4096, 4096)
    limits.append((128, 128))
    assert most_connections(2000) == connections.LEAST


def test_a_lack_of_files_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A line and no traceback; other errors are told as always."""
    with closing(asyncio.new_event_loop()) as loop, caplog.at_level(logging.ERROR):
        note_error(loop, {"message": "accept", "exception": OSError(24, "Too many open files")})
        note_error(loop, {"message": "other", "exception": ZeroDivisionError()})
    first, second = caplog.records
    assert (first.exc_info, "Too many open files" in first.getMessage()) == (None, True)
    assert second.exc_info
