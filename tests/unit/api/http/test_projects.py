"""Projects over HTTP: who belongs to them, and what their administrators may not do."""

from __future__ import annotations

from collections.abc import Callable
from threading import Timer
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.http.access import TRUSTED_SECONDS
from autotune.api.roles import Role, Scope
from autotune.api.store.auth import Keyring, NewKey
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs, reassign
from autotune.api.store.members import Members

ANNA = "person:anna@example.org"
ASKED = {"workload": "digits", "space": "quick"}
Client = Callable[..., TestClient]


@pytest.fixture
def admin(client_with: Client) -> TestClient:
    """Administers the project a."""
    return client_with(*Role.ADMIN.scopes, project="a")


@pytest.fixture
def key(database: Database) -> NewKey:
    """A key that edits in a, looks at b, and has never heard of c."""
    made = Keyring(database).hand_out("ci", Role.EDITOR.scopes, project="a")
    Members(database).add("b", made.key.id, Role.VIEWER)
    return made


@pytest.fixture
def both(client_with: Client, key: NewKey) -> TestClient:
    """Calls with it."""
    client = client_with()
    client.headers["Authorization"] = f"Bearer {key.secret}"
    return client


def submitted(client: TestClient, **more: Any) -> str:
    """Return the id of a new job."""
    answer = client.post("/v1/tunings", json=ASKED | more)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_a_key_has_roles_in_several_projects(both: TestClient, client_with: Client) -> None:
    """It reads in both, cancels in one alone, and finds nothing of a third."""
    own, seen, hidden = (
        submitted(client_with(*Role.EDITOR.scopes, project=each)) for each in ("a", "b", "c")
    )
    assert {each["id"] for each in both.get("/v1/tunings").json()["tunings"]} == {own, seen}
    only = both.get("/v1/tunings?project=b").json()["tunings"]
    assert [each["id"] for each in only] == [seen]
    assert both.get("/v1/tunings?project=c").json()["tunings"] == []
    assert [both.get(f"/v1/tunings/{each}").status_code for each in (own, seen, hidden)] == [
        200,
        200,
        404,
    ]
    cancelled = [both.post(f"/v1/tunings/{each}/cancel") for each in (own, seen, hidden)]
    assert [each.status_code for each in cancelled] == [202, 403, 404]


def test_a_list_of_several_projects_is_one(both: TestClient, client_with: Client) -> None:
    """The newest first, page by page, whosever they are."""
    others = client_with(*Role.EDITOR.scopes, project="b")
    made = [submitted(each) for each in (both, others, both, both, others)]
    first = both.get("/v1/tunings?limit=3").json()
    rest = both.get(f"/v1/tunings?limit=3&before={first['next']}").json()
    found = [each["id"] for each in (*first["tunings"], *rest["tunings"])]
    assert found == made[::-1]
    assert rest["next"] is None


def test_a_job_goes_to_the_project_that_is_named(
    both: TestClient, database: Database, key: NewKey, app: FastAPI
) -> None:
    """Among those in which the caller is an editor."""
    assert both.get(f"/v1/tunings/{submitted(both)}").json()["owner"] == "a"
    refused = [both.post("/v1/tunings", json=ASKED | {"project": each}) for each in "bc"]
    assert [each.status_code for each in refused] == [403, 404]
    Members(database).add("b", key.key.id, Role.EDITOR)
    later = app.state.service.guard._clock() + TRUSTED_SECONDS
    app.state.service.guard._clock = lambda: later
    assert both.get(f"/v1/tunings/{submitted(both, project='b')}").json()["owner"] == "b"


def test_a_key_tells_where_it_may_do_what(both: TestClient) -> None:
    """Of projects that it does not belong to, nothing."""
    found = {each["name"]: each["scopes"] for each in both.get("/v1/projects").json()["projects"]}
    assert found == {"a": ["tunings:read", "tunings:write"], "b": ["tunings:read"]}


def test_an_administrator_adds_and_removes_members(admin: TestClient) -> None:
    """Those of its project."""
    answer = admin.put(f"/v1/projects/a/members/{ANNA}", json={"role": "viewer"})
    assert (answer.status_code, answer.json()["role"]) == (200, "viewer")
    (found,) = admin.get("/v1/projects/a/members").json()["members"]
    assert found == {"project": "a", "member": ANNA, "role": "viewer"}
    assert admin.delete(f"/v1/projects/a/members/{ANNA}").status_code == 204
    assert admin.delete(f"/v1/projects/a/members/{ANNA}").status_code == 404
    assert admin.put("/v1/projects/a/members/nokey", json={"role": "viewer"}).status_code == 404


def test_an_administrator_makes_and_revokes_keys_of_its_project(
    admin: TestClient, client_with: Client
) -> None:
    """They work there and nowhere else, and the secret is told once."""
    made = admin.post("/v1/projects/a/keys", json={"name": "ci", "days": 1}).json()
    client = client_with()
    client.headers["Authorization"] = f"Bearer {made['secret']}"
    assert client.get(f"/v1/tunings/{submitted(client)}").json()["owner"] == "a"
    assert client.post("/v1/tunings", json=ASKED | {"project": "b"}).status_code == 404
    assert client.get("/v1/projects/a/keys").status_code == 403
    listed = admin.get("/v1/projects/a/keys")
    assert made["secret"] not in listed.text
    assert made["id"] in listed.text
    assert admin.delete(f"/v1/projects/a/keys/{made['id']}").status_code == 204
    assert admin.delete(f"/v1/projects/a/keys/{made['id']}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "scopes": ["admin"]},
        {"name": "x", "role": "operator"},
        {"name": "x", "project": "b"},
        {"name": "x\u0000"},
        {"name": "x", "days": 0},
    ],
)
def test_an_administrator_of_a_project_makes_no_key_beyond_it(
    admin: TestClient, body: dict[str, Any]
) -> None:
    """There is no way to say so, and the greatest role is the project's own."""
    assert admin.post("/v1/projects/a/keys", json=body).status_code == 422
    made = admin.post("/v1/projects/a/keys", json={"name": "x", "role": "admin"}).json()
    assert set(made["scopes"]) == Role.ADMIN.scopes


def test_an_administrator_of_a_project_does_nothing_for_the_service(admin: TestClient) -> None:
    """Neither workers, nor metrics, nor jobs of others, nor a priority."""
    assert admin.get("/metrics").status_code == 403
    assert admin.post("/v1/workers/w/drain").status_code == 403
    assert admin.post("/v1/tunings", json=ASKED | {"priority": 1}).status_code == 403


def test_another_project_is_out_of_reach(admin: TestClient, database: Database) -> None:
    """It is not found; one that is only looked at is not administered either."""
    keyring = Keyring(database)
    theirs = keyring.hand_out("x", Role.EDITOR.scopes, project="b").key.id
    calls = [
        ("GET", "/v1/projects/b/members", None),
        ("PUT", f"/v1/projects/b/members/{ANNA}", {"role": "admin"}),
        ("DELETE", f"/v1/projects/b/members/{ANNA}", None),
        ("GET", "/v1/projects/b/keys", None),
        ("POST", "/v1/projects/b/keys", {"name": "x"}),
        ("DELETE", f"/v1/projects/b/keys/{theirs}", None),
        ("DELETE", f"/v1/projects/a/keys/{theirs}", None),
    ]
    for method, path, body in calls:
        assert admin.request(method, path, json=body).status_code == 404, (method, path)


def test_a_key_of_the_service_is_not_revoked_by_a_project(
    admin: TestClient, database: Database
) -> None:
    """Though its own jobs are the project's."""
    ops = Keyring(database).hand_out("ops", list(Scope), project="a")
    assert ops.key.id not in admin.get("/v1/projects/a/keys").text
    assert admin.delete(f"/v1/projects/a/keys/{ops.key.id}").status_code == 404
    assert Keyring(database).recognise(ops.secret).id == ops.key.id


@pytest.mark.parametrize("name", ["a%00b", "%0a", "x" * 400])
def test_an_odd_name_is_not_found(client_with: Client, name: str) -> None:
    """Before a database is asked."""
    operator = client_with(*Scope)
    assert operator.get(f"/v1/projects/{name}/members").status_code == 404


def test_whoever_loses_a_role_follows_no_longer(
    app: FastAPI, both: TestClient, client_with: Client, database: Database, key: NewKey
) -> None:
    """The stream ends within a heartbeat, though the job goes on."""
    job = submitted(client_with(*Role.EDITOR.scopes, project="b"))
    clock = iter(range(10**6, 10**9, int(TRUSTED_SECONDS)))
    app.state.service.guard._clock = clock.__next__
    with both.stream("GET", f"/v1/tunings/{job}/events") as stream:
        lines = stream.iter_lines()
        assert next(each for each in lines if each.startswith("event:")) == "event: queued"
        Members(database).remove("b", key.key.id)
        assert not any(line.startswith("event:") for line in lines)


def test_who_follows_a_job_that_is_given_away_follows_no_longer(
    client_with: Client, database: Database, jobs: Jobs
) -> None:
    """What happens to it from then on is nobody's business but the other project's."""
    follower = client_with(*Role.EDITOR.scopes, project="a")
    job = submitted(follower)
    # So that it ends, were it followed to its end.
    later = Timer(2, jobs.cancel, (job, None))
    with follower.stream("GET", f"/v1/tunings/{job}/events") as stream:
        lines = stream.iter_lines()
        assert next(each for each in lines if each.startswith("event:")) == "event: queued"
        reassign(database, "a", "b")
        later.start()
        assert not any(line.startswith("event:") for line in lines)
    later.cancel()
