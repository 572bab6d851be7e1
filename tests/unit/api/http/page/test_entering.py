"""Signing in and out of the page."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from autotune.api.http.access import COOKIE
from autotune.api.http.page.pages import SESSION_SECONDS, safe
from autotune.api.identity import Scope
from autotune.api.settings import Settings
from autotune.api.store.auth import Keyring, NewKey
from autotune.api.store.database import Database

JOB = f"/tunings/{'0' * 24}"


@pytest.mark.parametrize(
    ("wanted", "leads"),
    [
        ("/", "/"),
        (JOB, JOB),
        ("/?state=running&state=queued", "/?state=running&state=queued"),
        ("", "/"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/?a=\r\nSet-Cookie: x", "/"),
        ("javascript:alert(1)", "/"),
        ("/tunings/../sign-out", "/"),
        ("/sign-out", "/"),
        ("/v1/tunings", "/"),
        (f"{JOB}/../../x", "/"),
        (f"{JOB}\n", "/"),
    ],
)
def test_signing_in_leads_nowhere_else(wanted: str, leads: str) -> None:
    assert safe(wanted) == leads


@pytest.mark.parametrize(("scheme", "own"), [("http", set()), ("https", {"Secure"})])
def test_the_cookie_is_kept_from_scripts_and_other_sites(
    stranger: TestClient, made: NewKey, scheme: str, own: set[str]
) -> None:
    """A server that speaks TLS may stand before the service, which itself does not."""
    origin = {"Origin": f"{scheme}://localhost"}
    answer = stranger.post("/sign-in", data={"key": made.secret}, headers=origin)
    name, *attributes = answer.headers["set-cookie"].split("; ")
    expected = {"HttpOnly", f"Max-Age={SESSION_SECONDS}", "Path=/", "SameSite=lax"}
    assert set(attributes) == expected | own
    assert name.startswith(f"{COOKIE}=autotune_session_")
    assert made.secret not in answer.headers["set-cookie"]


def test_two_services_on_one_host_do_not_sign_each_other_out(
    stranger: TestClient, made: NewKey
) -> None:
    """A browser sends a cookie to all ports of a host, so each service has a name of its own."""
    names = []
    for host in ("localhost:8321", "localhost:8322", "localhost"):
        here = {"Host": host, "Origin": f"http://{host}"}
        answer = stranger.post("/sign-in", data={"key": made.secret}, headers=here)
        names.append(answer.headers["set-cookie"].partition("=")[0])
    assert names == [f"{COOKIE}_8321", f"{COOKIE}_8322", COOKIE]
    for port in (8321, 8322):
        assert stranger.get("/v1/tunings", headers={"Host": f"localhost:{port}"}).status_code == 200
    here = {"Host": "localhost:8321", "Origin": "http://localhost:8321"}
    stranger.post("/sign-out", headers=here)
    assert stranger.get("/v1/tunings", headers={"Host": "localhost:8321"}).status_code == 401
    assert stranger.get("/v1/tunings", headers={"Host": "localhost:8322"}).status_code == 200


@pytest.mark.parametrize("key", ["", "x", "autotune_" + "A" * 43, "autotune_session_" + "A" * 43])
def test_a_wrong_key_is_told_at_its_field(stranger: TestClient, key: str) -> None:
    answer = stranger.post("/sign-in", data={"key": key, "next": JOB})
    assert answer.status_code == 401
    assert "Invalid API key." in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert f'value="{JOB}"' in answer.text
    assert "AAAA" not in answer.text
    assert "set-cookie" not in answer.headers


def test_a_key_that_may_not_look_is_told_so(stranger: TestClient, database: Database) -> None:
    made = Keyring(database).hand_out("ci", [Scope.WRITE], "ci")
    answer = stranger.post("/sign-in", data={"key": made.secret})
    assert answer.status_code == 403
    assert "lacks the scope read" in answer.text


def test_a_key_in_the_cookie_is_no_session(stranger: TestClient, made: NewKey) -> None:
    stranger.cookies.set(COOKIE, made.secret)
    assert stranger.get("/v1/tunings").status_code == 401


def test_signing_out_ends_the_session(browser: TestClient) -> None:
    session = browser.cookies[COOKIE]
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert COOKIE not in browser.cookies
    browser.cookies.set(COOKIE, session)
    assert browser.get("/v1/tunings").status_code == 401


def test_a_session_ends_with_its_key(browser: TestClient, made: NewKey, database: Database) -> None:
    assert browser.get("/").status_code == 200
    Keyring(database).revoke(made.key.id)
    answer = browser.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://localhost:9999", "Sec-Fetch-Site": "same-site"},
        {"Origin": None, "Sec-Fetch-Site": None},
        {"Origin": None, "Sec-Fetch-Site": "none"},
    ],
)
def test_a_browser_changes_nothing_from_elsewhere(
    browser: TestClient, headers: dict[str, str | None]
) -> None:
    """Whoever shows a cookie must say that the call comes from a page of this service."""
    for name, value in headers.items():
        del browser.headers[name]
        if value is not None:
            browser.headers[name] = value
    for path in ("/", JOB, "/sign-in", "/sign-out", "/v1/tunings", f"/v1{JOB}/cancel"):
        answer = browser.post(path, data={"workload": "digits"})
        assert answer.status_code == 403, path
        assert "another site" in answer.text
    assert browser.get("/v1/tunings").json()["tunings"] == []


def test_without_keys_nobody_signs_in(serve: Any, settings: Settings) -> None:
    with TestClient(serve(settings, keys=False), base_url="http://localhost") as client:
        page = client.get("/")
        assert page.status_code == 200
        assert "Sign out" not in page.text
        assert "autotune submit" in page.text
        asked = client.get(f"/sign-in?next={JOB}", follow_redirects=False)
        assert (asked.status_code, asked.headers["location"]) == (303, JOB)


@pytest.mark.parametrize("body", [b"\xff", b"a=1&" * 600, b"key=%ff"])
def test_an_odd_form_is_refused_as_a_page(stranger: TestClient, body: bytes) -> None:
    kind: Any = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = stranger.post("/sign-in", content=body, headers=kind)
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/html")
