"""Webhooks over HTTP: who may add them, what is shown of them, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.callers import Scope

ASKED = {"url": "https://ci.example.org/hook"}
Client = Callable[..., TestClient]


@pytest.fixture
def hook(client: TestClient) -> dict[str, Any]:
    """A webhook of that client."""
    answer = client.post("/v1/webhooks", json=ASKED)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_secret_is_shown_once(client: TestClient, hook: dict[str, Any]) -> None:
    """When it is made, and never again."""
    assert hook["secret"].startswith("whsec_")
    assert hook["events"] == ["job.done", "job.failed", "job.cancelled"]
    listed = client.get("/v1/webhooks")
    assert listed.json()["webhooks"] == [{k: v for k, v in hook.items() if k != "secret"}]
    assert hook["secret"] not in listed.text
    new = client.post(f"/v1/webhooks/{hook['id']}/rotate").json()
    assert new["secret"] != hook["secret"]


def test_a_test_is_sent_beside_the_request(client: TestClient, hook: dict[str, Any]) -> None:
    """The answer does not wait for it; the deliveries tell."""
    answer = client.post(f"/v1/webhooks/{hook['id']}/test")
    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    listed = client.get(f"/v1/webhooks/{hook['id']}/deliveries").json()
    assert listed == {"deliveries": [answer.json()]}


def test_a_webhook_is_removed(client: TestClient, hook: dict[str, Any]) -> None:
    """Once."""
    assert client.delete(f"/v1/webhooks/{hook['id']}").status_code == 204
    assert client.get("/v1/webhooks").json() == {"webhooks": []}
    assert client.delete(f"/v1/webhooks/{hook['id']}").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", ""), ("POST", "/rotate"), ("POST", "/test"), ("GET", "/deliveries")],
)
def test_webhooks_of_others_are_not_there(
    client_with: Client, hook: dict[str, Any], method: str, path: str
) -> None:
    """Nor is what has no id."""
    other = client_with(Scope.READ, Scope.WRITE)
    for each in (hook["id"], "0" * 24, "%00", "x" * 300):
        answer = other.request(method, f"/v1/webhooks/{each}{path}")
        assert answer.status_code == 404, answer.text
    assert other.get("/v1/webhooks").json() == {"webhooks": []}


def test_a_project_that_the_caller_does_not_know_gets_none(client: TestClient) -> None:
    """As a job for it would be."""
    answer = client.post("/v1/webhooks", json={**ASKED, "project": "others"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_who_only_looks_neither_adds_nor_sees_webhooks(client_with: Client) -> None:
    """Their addresses may hold secrets of their own."""
    viewer = client_with(Scope.READ)
    assert viewer.post("/v1/webhooks", json=ASKED).status_code == 403
    assert viewer.get("/v1/webhooks").status_code == 403


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"url": "http://ci.example.org"}, "invalid-webhook"),
        ({"url": "https://169.254.169.254/latest"}, "invalid-webhook"),
        ({"url": "https://[::1]"}, "invalid-webhook"),
        ({"url": "https://user:word@ci.example.org"}, "invalid-request"),
        ({"url": "https://ci.example.org/\ud800"}, "invalid-request"),
        ({"url": "https://ci.example.org/" + "x" * 1000}, "invalid-request"),
        ({**ASKED, "events": []}, "invalid-request"),
        ({**ASKED, "events": ["job.started"]}, "invalid-request"),
        ({**ASKED, "secret": "mine"}, "invalid-request"),
    ],
)
def test_what_is_refused(client: TestClient, asked: dict[str, Any], code: str) -> None:
    """With a word for programs and the next step."""
    body, header = json.dumps(asked), {"Content-Type": "application/json"}
    answer = client.post("/v1/webhooks", content=body, headers=header)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert answer.json()["next_step"]


def test_the_document_tells_what_is_sent(app: FastAPI) -> None:
    """Who writes a receiver finds the body there."""
    told = app.openapi()
    body = told["webhooks"]["job-ended"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["$ref"].endswith("/Notification")
    assert "verdict" in told["components"]["schemas"]["EndedJob"]["properties"]
