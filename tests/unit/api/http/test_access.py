"""Who may come in, and what for."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount
from starlette.testclient import TestClient

from autotune.api.http.access import FILES, PUBLIC, caller
from autotune.api.http.middleware import HEADERS
from autotune.api.identity import Scope
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.values import LOCAL_PROJECT
from autotune.wire.jobs import Job

JOB = f"/tunings/{'0' * 24}"
PAGES = ("/", "/workers", "/sign-out", JOB)
Serve = Callable[..., FastAPI]
METHODS = ("GET", "POST", "DELETE", "ODD")


def routes_of(routes: list[BaseRoute]) -> Iterator[BaseRoute]:
    for route in routes:
        router = getattr(route, "original_router", None)
        yield from [route] if router is None else routes_of(router.routes)


def addresses(app: FastAPI) -> Iterator[str]:
    for route in routes_of(app.routes):
        path = re.sub(r"\{\w+_id\}", "0" * 24, getattr(route, "path", ""))
        yield f"{path}/x" if isinstance(route, Mount) else path


def test_everything_is_closed_but_what_is_listed(app: FastAPI, anybody: TestClient) -> None:
    """Without a key every route, by any of `METHODS`, and whatever is mounted answers 401.

    Only the pages for people lead to where one signs in, and show nothing either. Five addresses
    are open: what is alive, what is ready, the contract, and what one signs in by.
    """
    app.mount("/mounted", PlainTextResponse("open"))
    hidden = APIRouter()
    hidden.add_api_route("/hidden", lambda: "open", include_in_schema=False)
    app.include_router(hidden)
    found = {*addresses(app)}
    assert found >= {"/mounted/x", "/hidden", "/metrics", "/v1/tunings", *PAGES}
    assert len(found) >= 24
    files = {each for each in found if each.startswith(FILES)}
    odd = {"/nothing", "/healthz/", "//healthz", "/sign-in/", "/tunings", "/docs/"}
    for path in (found - PUBLIC - files) | odd:
        for method in METHODS:
            answer = anybody.request(method, f"http://localhost{path}", follow_redirects=False)
            if path in PAGES:
                assert answer.status_code == 303, (method, path)
                assert answer.headers["location"].startswith("/sign-in")
                assert answer.text == ""
            else:
                assert answer.status_code == 401, (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
    assert [anybody.get(path).status_code for path in PUBLIC] == [200] * 5


def test_every_closed_route_declares_a_scope(app: FastAPI) -> None:
    routes = [each for each in routes_of(app.routes) if isinstance(each, APIRoute)]
    assert len(routes) >= 15
    for route in routes:
        if route.path not in PUBLIC and not route.path.startswith(FILES):
            assert scopes_of(route.dependant), route.path


def scopes_of(dependant: Any) -> list[str]:
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
        ((Scope.WRITE,), "GET", "/metrics"),
    ],
)
def test_a_key_may_do_what_its_scopes_say(
    client_with: Any, scopes: tuple[Scope, ...], method: str, path: str
) -> None:
    client = client_with(*scopes)
    refused = client.request(method, path, json={"workload": "digits"})
    assert (refused.status_code, refused.json()["code"]) == (403, "scope-missing")


def test_a_revoked_key_follows_no_longer(client: TestClient, database: Database, job: Job) -> None:
    with client.stream("GET", f"/v1/tunings/{job.id}/events") as stream:
        lines = stream.iter_lines()
        assert next(each for each in lines if each.startswith("event:")) == "event: queued"
        Keyring(database).revoke(job.created_by or "")
        assert not any(line.startswith("event:") for line in lines)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, "cross-origin"),
        ({"Sec-Fetch-Site": "same-site"}, "cross-origin"),
        ({"Origin": "http://evil.example"}, "cross-origin"),
        ({"Origin": "http://localhost:9999"}, "cross-origin"),
        ({"Origin": "null"}, "cross-origin"),
        ({"Sec-Fetch-Site": "none"}, None),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}, None),
        ({"Origin": "HTTPS://LocalHost:8321", "Host": "localhost:8321"}, None),
    ],
)
def test_a_page_of_another_site_changes_nothing(
    client: TestClient, headers: dict[str, str], code: str | None
) -> None:
    answer = client.post("/v1/tunings", json={"workload": "digits"}, headers=headers)
    assert (answer.status_code, answer.json().get("code")) == (403 if code else 202, code)
    assert len(client.get("/v1/tunings").json()["tunings"]) == (code is None)


def test_without_keys_everybody_on_this_machine_may_do_everything(
    serve: Serve, settings: Settings
) -> None:
    """Its jobs belong to nobody in particular; by another name the machine is not reached."""
    web = settings.web.model_copy(update={"hosts": ("evil.example", "127.0.0.2")})
    app = serve(settings.model_copy(update={"web": web}), keys=False)
    with TestClient(app, base_url="http://localhost") as client:
        made = client.post("/v1/tunings", json={"workload": "digits"})
        assert made.status_code == 202
        jobs = app.state.service.jobs
        assert jobs.get(made.json()["id"], None).project == LOCAL_PROJECT
        assert client.get("/metrics").status_code == 200
        assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 400
        assert client.get("/healthz", headers={"Host": "127.0.0.2:80"}).status_code == 200


def test_another_host_is_refused(serve: Serve, settings: Settings) -> None:
    """Only names that the operator has listed lead here, and the answer is a problem."""
    web = settings.web.model_copy(update={"hosts": ("tuner.example.org",)})
    with TestClient(serve(settings.model_copy(update={"web": web}))) as client:
        assert client.get("http://tuner.example.org/healthz").status_code == 200
        refused = client.get("http://evil.example/healthz")
        assert (refused.status_code, refused.json()["code"]) == (400, "bad-request")


@pytest.mark.parametrize("path", ["/healthz", "/v1/tunings", "/v1/nothing"])
def test_every_answer_has_the_security_headers(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"Origin": "http://evil.example"})
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers
