"""Who may come in, and what for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount
from starlette.testclient import TestClient

from autotune.api.http import access
from autotune.api.http.access import PUBLIC, Access, bearer, caller
from autotune.api.http.app import create_app
from autotune.api.http.envelope import HEADERS
from autotune.api.keyholders import Keyholders
from autotune.api.keys import Scope
from autotune.api.log import logger
from autotune.api.settings import Settings
from autotune.api.store.database import Database
from autotune.api.values import LOCAL_OWNER, Job

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "ODD")


def addresses(app: FastAPI) -> Iterator[str]:
    """Yield an address of every route and mounted application."""
    document = app.openapi()
    yield from (path.replace("{job_id}", "0" * 24) for path in document["paths"])
    for route in app.routes:
        path = getattr(route, "path", "")
        yield f"{path}/x" if isinstance(route, Mount) else path.replace("{job_id}", "0" * 24)


def api_routes(routes: list[BaseRoute]) -> Iterator[APIRoute]:
    """Yield the routes of an application, those of its routers too."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        router = getattr(route, "original_router", None)
        if router is not None:
            yield from api_routes(router.routes)


def test_everything_is_closed_but_three_addresses(app: FastAPI, anybody: TestClient) -> None:
    """Without a key every route, whatever its method, and whatever is mounted answers 401."""
    app.mount("/mounted", PlainTextResponse("open"))
    found = {each for each in addresses(app) if each}
    assert len(found) >= 15
    for path in (found - set(PUBLIC)) | {"/", "/nothing", "/healthz/", "//healthz"}:
        for method in METHODS:
            answer = anybody.request(method, f"http://localhost{path}")
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"


def test_three_addresses_are_open(anybody: TestClient) -> None:
    """What is alive, what is ready, and the contract need no key."""
    assert len(PUBLIC) == 3
    for path in PUBLIC:
        assert anybody.get(path).status_code == 200


def test_every_closed_route_declares_a_scope(app: FastAPI) -> None:
    """A key that is good for nothing can do nothing."""
    routes = [*api_routes(app.routes)]
    assert len(routes) >= 15
    for route in routes:
        if route.path not in PUBLIC:
            assert scopes_of(route.dependant), route.path


def scopes_of(dependant: Any) -> list[str]:
    """Return the scopes that a route asks for, by itself or by what it depends on."""
    own = dependant.own_oauth_scopes or [] if dependant.call is caller else []
    return [*own, *(scope for each in dependant.dependencies for scope in scopes_of(each))]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer autotune_" + "A" * 43,
        "Basic dXNlcjpwYXNz",
        "bearer autotune_\xe9",
    ],
)
def test_a_wrong_key_is_refused(anybody: TestClient, header: str) -> None:
    """Whatever is wrong with it, the answer is 401 and does not repeat it."""
    refused = anybody.get("/v1/tunings", headers={"Authorization": header.encode("latin-1")})
    assert refused.status_code == 401
    assert refused.json()["code"] in {"key-missing", "key-refused"}
    assert "AAAA" not in refused.text


@pytest.mark.parametrize(
    ("scopes", "method", "path"),
    [
        ((Scope.READ,), "POST", "/v1/tunings"),
        ((Scope.READ,), "POST", f"/v1/tunings/{'0' * 24}/cancel"),
        ((Scope.WRITE,), "GET", "/v1/tunings"),
        ((Scope.READ, Scope.WRITE), "GET", "/metrics"),
    ],
)
def test_a_key_may_do_what_its_scopes_say(
    client_with: Any, scopes: tuple[Scope, ...], method: str, path: str
) -> None:
    """A missing scope is told as such."""
    client = client_with(*scopes)
    refused = client.request(method, path, json={"workload": "digits"})
    assert (refused.status_code, refused.json()["code"]) == (403, "scope-missing")


def test_a_revoked_key_is_refused(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is trusted for two seconds at most after that."""
    assert client.get("/v1/tunings").status_code == 200
    keyholders = Keyholders(database)
    keyholders.revoke(keyholders.all()[0].id)
    monkeypatch.setattr(access.time, "monotonic", lambda: 1e12)
    assert client.get("/v1/tunings").status_code == 401


def test_an_expired_key_is_refused(client_with: Any) -> None:
    """A key is valid as long as it was made for."""
    assert client_with(Scope.READ, seconds=-1).get("/v1/tunings").status_code == 401


def test_a_key_may_come_from_elsewhere(app: FastAPI, database: Database) -> None:
    """A page can let in by a cookie what a program shows in a header."""
    secret = Keyholders(database).hand_out("page", [Scope.READ]).secret
    for each in app.user_middleware:
        if each.cls is Access:
            each.kwargs["sources"] = (bearer, lambda connection: connection.cookies.get("key"))
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/v1/tunings").status_code == 401
        client.cookies.set("key", secret)
        assert client.get("/v1/tunings").status_code == 200


def test_without_keys_everybody_on_this_machine_may_do_everything(settings: Settings) -> None:
    """Its jobs belong to nobody in particular; by another name the machine is not reached."""
    app = create_app(settings, keys=False)
    with TestClient(app, base_url="http://localhost") as client:
        made = client.post("/v1/tunings", json={"workload": "digits"})
        assert made.status_code == 202
        jobs = app.state.service.jobs
        assert jobs.get(made.json()["id"], None).owner == LOCAL_OWNER
        assert client.get("/metrics").status_code == 200
        assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 400


def test_another_host_is_refused(settings: Settings) -> None:
    """Only names that the operator has listed lead here, and the answer is a problem."""
    web = settings.web.model_copy(update={"hosts": ("tuner.example.org",)})
    with TestClient(create_app(settings.model_copy(update={"web": web}))) as client:
        assert client.get("http://tuner.example.org/healthz").status_code == 200
        refused = client.get("http://evil.example/healthz")
        assert (refused.status_code, refused.json()["code"]) == (400, "bad-request")


@pytest.mark.parametrize("path", ["/healthz", "/v1/tunings", "/v1/nothing"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    """Errors too; and no other site may read anything."""
    answer = client.get(path, headers={"Origin": "http://evil.example"})
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers


def test_the_log_names_the_route_and_the_key_and_no_secret(
    client: TestClient, job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    """A line tells who called what, not with which words."""
    with caplog.at_level(logging.INFO, logger.name):
        client.get(f"/v1/tunings/{job.id}?sate=hidden")
    line = caplog.records[-1].getMessage()
    assert "route=/v1/tunings/{job_id}" in line
    assert f"key={job.owner}" in line
    assert "autotune_" not in line
    assert "hidden" not in line
