"""What an attack on a running service has found, each as it must be answered."""

import asyncio
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.http import app as server
from autotune.api.http.app import Impatient, _complaints
from autotune.api.log import logger
from autotune.api.settings import Settings
from tests.waiting import until

DEAREST = ("/openapi.json", "/docs/files/swagger-ui-bundle.js", "/docs", "/sign-in")
"""Answers to whoever has no key that are more than a sentence."""


@pytest.mark.parametrize("packed", ["gzip", "identity"])
def test_nothing_without_a_key_costs_much(anybody: TestClient, packed: str) -> None:
    """In processor time, at most three times as much as the question whether the service lives."""

    def cost(path: str) -> float:
        spent = []
        for _ in range(15):
            began = time.process_time()
            anybody.get(path, headers={"Accept-Encoding": packed}).read()
            spent.append(time.process_time() - began)
        return min(spent)

    alive = cost("/healthz")
    # Reading a megabyte costs the client of this test some milliseconds, too.
    assert {path: cost(path) / alive < 3 + 0.01 / alive for path in DEAREST} == dict.fromkeys(
        DEAREST, True
    )


@contextmanager
def listening(application: FastAPI) -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        config = uvicorn.Config(application, http=Impatient, log_config=None, lifespan="off")
        running = uvicorn.Server(config)
        thread = Thread(target=lambda: asyncio.run(running.serve([bound])))
        thread.start()
        until(lambda: running.started)
        try:
            yield bound
        finally:
            running.should_exit = True
            thread.join()


def test_a_connection_that_asks_nothing_ends(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that sends a head without an end; whoever asks in time is answered."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with listening(app) as bound:
        where = bound.getsockname()
        for sent in (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "):
            with socket.create_connection(where, timeout=30) as idle:
                idle.sendall(sent)
                assert idle.recv(100) == b""
        monkeypatch.setattr(server, "HEAD_SECONDS", 300.0)  # However slow this machine is.
        with socket.create_connection(where, timeout=30) as quick:
            quick.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert quick.recv(100).startswith(b"HTTP/1.1 200")


def test_a_body_of_two_lengths_is_refused_and_nothing_behind_it_read(app: FastAPI) -> None:
    two = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"
    behind = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with listening(app) as bound, socket.create_connection(bound.getsockname(), 30) as sent:
        sent.sendall(b"POST /v1/tunings HTTP/1.1\r\nHost: localhost\r\n" + two + b"\r\n" + behind)
        answer = b""
        with suppress(ConnectionError):
            while part := sent.recv(4096):
                answer += part
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"params": {"filters": "a\nb"}}, "printable characters"),
        ({"params": {"filters": [1]}}, "valid string"),
        ({"space": {"axes": 3, "strategies": ["one_device"]}}, "axes"),
        ({"space": "a\x1bb"}, "search space"),
    ],
)
def test_a_mistake_is_told_of_what_was_meant(
    client: TestClient, asked: dict[str, Any], words: str
) -> None:
    answer = client.post("/v1/tunings", json={"workload": "digits", **asked})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_a_database_that_was_removed_is_told_at_once(
    client: TestClient, settings: Settings
) -> None:
    """Nothing is accepted that would be lost."""
    file = settings.data / "service.db"
    file.rename(file.with_suffix(".away"))
    for answer in (client.get("/readyz"), client.post("/v1/tunings", json={"workload": "digits"})):
        assert (answer.status_code, answer.json()["code"]) == (503, "database-unavailable")
        assert "removed or replaced" in answer.json()["detail"]
    file.write_bytes(b"")
    assert client.get("/readyz").status_code == 503
    file.with_suffix(".away").replace(file)
    assert client.get("/readyz").status_code == 200


def test_what_the_event_loop_complains_of_is_a_line_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As where no further connection can be accepted, a thousand times a second."""
    complaints, loop = _complaints(), Mock(time=Mock(side_effect=[0.0, 1.0, 59.0, 61.0]))
    context = {"message": "socket.accept() out of system resource", "exception": OSError(24, "x")}
    with caplog.at_level(logging.ERROR, logger.name):
        for _ in range(4):
            complaints(loop, context)
    assert [each.getMessage().count("\n") for each in caplog.records] == [0, 0]
