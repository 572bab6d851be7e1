"""What may be asked for, over HTTP."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.testclient import TestClient


def test_a_machine_that_is_not_known_yet_keeps_nobody_waiting(
    app: FastAPI, client: TestClient
) -> None:
    """Status 503 says when to come again, and jobs are taken in as they come."""
    app.state.service.offers._machine = None
    for path in ("/v1/machine", "/v1/spaces"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (503, "machine-unknown")
        assert int(answer.headers["retry-after"]) <= 10
    assert client.post("/v1/tunings", json={"workload": "digits"}).status_code == 202
