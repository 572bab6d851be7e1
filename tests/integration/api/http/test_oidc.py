"""People sign in at a provider, and programs show its tokens: over HTTP, the service a process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from autotune.api.http.app import create_app
from autotune.api.http.oidc import Discovery
from autotune.api.roles import Role
from autotune.api.settings import load_settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.members import Members

pytest.importorskip("joserfc")
from tests.oidc import CLIENT, SECRET, FakeProvider, new_key, provider

ROOT = Path(__file__).parents[4]
ASKED = {"workload": "digits", "space": "quick", "budget": 60}
SETTINGS = """
data = "{data}"
root = "{root}"
[oidc]
issuer = "{issuer}"
url = "{url}"
client_id = "{client}"
client_secret_file = "{secret}"
audience = "tuner"
[oidc.roles]
readers = {{ a = "viewer" }}
makers = {{ a = "editor" }}
owners = {{ a = "admin" }}
"""


@dataclass(frozen=True)
class World:
    """A service and its provider."""

    fake: FakeProvider
    url: str
    database: Database

    def browser(self) -> httpx.Client:
        """Return a browser that nobody has signed in with; it follows no link by itself."""
        return httpx.Client(base_url=self.url, headers={"Origin": self.url}, timeout=30)

    def program(self, secret: str) -> httpx.Client:
        """Return a program with a key or token."""
        header = {"Authorization": f"Bearer {secret}"}
        return httpx.Client(base_url=self.url, headers=header, timeout=30)

    def returned(self, browser: httpx.Client, wanted: str = "/") -> str:
        """Return the address by which the provider sends a browser back that begins to sign in."""
        begun = browser.get("/sign-in/begin", params={"next": wanted})
        assert begun.status_code == 303, begun.text
        there = httpx.get(begun.headers["location"])
        return str(there.headers["location"])

    def person(self, group: str, **claims: object) -> None:
        """Say who is before the browser."""
        self.fake.claims = {"sub": "anna", "name": "Anna Ä", "groups": [group], **claims}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Both, started once."""
    folder = tmp_path_factory.mktemp("oidc")
    with socket.socket() as free, provider() as fake:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        free.close()
        (folder / "secret").write_text(f"{SECRET}\n")
        given = {"data": folder / "data", "root": ROOT, "issuer": fake.issuer, "url": url}
        file = folder / "service.toml"
        file.write_text(SETTINGS.format(**given, client=CLIENT, secret=folder / "secret"))
        with (folder / "log").open("wb") as log:
            port = url.rpartition(":")[2]
            words = ["-m", "autotune", "serve", "api", "--port", port, "--settings", str(file)]
            process = subprocess.Popen([sys.executable, *words], stdout=log, stderr=log)
            try:
                _await(url, process)
                database = Database(load_settings(file).database_url)
                yield World(fake, url, database)
                database.close()
            finally:
                process.terminate()
                process.wait()
        assert SECRET not in (folder / "log").read_text()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/readyz").is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError("The service did not start.")


def test_a_person_signs_in_and_out(world: World) -> None:
    """From the page to the provider and back to the page; then nothing is shown any more."""
    world.person("readers")
    with world.browser() as browser:
        page = browser.get("/sign-in?next=/?state=done").text
        assert f'href="{world.url}/sign-in/begin?next=%2F%3Fstate%3Ddone"' in page
        back = browser.get(world.returned(browser, "/?state=done"))
        assert (back.status_code, back.headers["location"]) == (303, "/?state=done")
        cookie = next(each for each in back.headers.get_list("set-cookie") if "session" in each)
        attributes = set(cookie.split("; ")[1:])
        assert attributes == {"HttpOnly", "Max-Age=43200", "Path=/", "SameSite=lax"}
        home = browser.get("/")
        assert "Anna Ä" in home.text
        assert "New job" not in home.text
        kept = dict(browser.cookies)
        assert browser.post("/sign-out").status_code == 200
        browser.cookies.update(kept)
        assert browser.get("/v1/tunings").status_code == 401


def test_signing_out_here_leads_on_to_the_provider(world: World) -> None:
    """And from there back to where one signs in, whatever the request names."""
    world.person("readers")
    named = {"next": "https://evil.example", "post_logout_redirect_uri": "https://evil.example"}
    with world.browser() as browser:
        browser.get(world.returned(browser))
        answer = browser.post("/sign-out", params=named, data=named)
        there = answer.headers["refresh"].removeprefix("0; url=")
        assert there.startswith(f"{world.fake.issuer}/logout?tenant=1&client_id=")
        assert f'href="{there.replace("&", "&amp;")}"' in answer.text
        assert "evil" not in answer.text + there
        assert httpx.get(there).headers["location"] == f"{world.url}/sign-in"
        assert set(world.fake.signed_out[-1]) == {"tenant", "client_id", "post_logout_redirect_uri"}


def test_no_other_site_signs_anybody_out(world: World) -> None:
    """Neither here nor, by way of here, at the provider."""
    world.person("readers")
    with world.browser() as browser:
        browser.get(world.returned(browser))
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            answer = browser.post("/sign-out", headers=headers)
            assert (answer.status_code, answer.headers.get("refresh")) == (403, None)
        assert browser.get("/sign-out").status_code == 405
        assert browser.get("/v1/tunings").status_code == 200


def test_who_came_with_a_key_signs_out_here_alone(world: World) -> None:
    """The provider does not know of it."""
    made = Keyring(world.database).hand_out("c", Role.VIEWER.scopes)
    with world.browser() as browser:
        assert browser.post("/sign-in", data={"key": made.secret}).status_code == 303
        answer = browser.post("/sign-out")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


@pytest.mark.parametrize("endpoint", [None, "http://elsewhere.example/logout", "javascript:x"])
def test_a_provider_at_which_nobody_can_sign_out_is_left_alone(endpoint: str | None) -> None:
    """Nobody is led to what anybody between could answer, and signing in works as before."""
    told = dict.fromkeys(("issuer", "jwks_uri", "token_endpoint"), "https://id.example")
    told |= {"authorization_endpoint": "https://id.example"}
    found = Discovery.model_validate({**told, "end_session_endpoint": endpoint})
    assert found.end_session_endpoint is None


def test_roles_of_people_hold(world: World) -> None:
    """A viewer looks, an editor asks and cancels; in another project nothing is found."""
    theirs = Keyring(world.database).hand_out("b", Role.EDITOR.scopes, project="b")
    with world.program(theirs.secret) as program:
        hidden = program.post("/v1/tunings", json=ASKED).json()["id"]
    with world.browser() as browser:
        world.person("makers", sub="max")
        browser.get(world.returned(browser))
        job = browser.post("/v1/tunings", json=ASKED).json()
        assert (job["owner"], job["created_by"]) == ("a", "person:max")
        assert browser.get(f"/v1/tunings/{hidden}").status_code == 404
        assert browser.get(f"/tunings/{hidden}").status_code == 404
        assert browser.post(f"/v1/tunings/{hidden}/cancel").status_code == 404
        assert browser.post("/v1/tunings", json=ASKED | {"project": "b"}).status_code == 404
        assert hidden not in browser.get("/v1/tunings").text
    with world.browser() as browser:
        world.person("readers")
        browser.get(world.returned(browser))
        assert browser.get(f"/v1/tunings/{job['id']}").status_code == 200
        assert browser.post(f"/v1/tunings/{job['id']}/cancel").status_code == 403
        assert browser.post("/v1/tunings", json=ASKED).status_code == 403
        assert 'id="cancel"' not in browser.get(f"/tunings/{job['id']}").text


def test_an_administrator_of_a_project_reaches_no_further(world: World) -> None:
    """It makes keys of its project; none of another one, and none of the service."""
    with world.browser() as browser:
        world.person("owners", sub="olga")
        browser.get(world.returned(browser))
        made = browser.post("/v1/projects/a/keys", json={"name": "ci", "role": "admin"})
        assert made.json()["scopes"] == ["project:admin", "tunings:read", "tunings:write"]
        wrong = {"name": "ci", "role": "admin", "scopes": ["admin"]}
        assert browser.post("/v1/projects/a/keys", json=wrong).status_code == 422
        assert browser.post("/v1/projects/b/keys", json={"name": "ci"}).status_code == 404
        assert browser.get("/metrics").status_code == 403


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/sign-out", "javascript:x"],
)
def test_signing_in_leads_to_pages_of_this_service_alone(world: World, wanted: str) -> None:
    """Whatever was asked for, and whatever the cookie says."""
    world.person("readers")
    with world.browser() as browser:
        assert browser.get(world.returned(browser, wanted)).headers["location"] == "/"
    with world.browser() as browser:
        back = world.returned(browser)
        (name,) = browser.cookies
        secret = browser.cookies[name].partition(".")[0]
        browser.cookies.clear()
        browser.cookies.set(name, f"{secret}.{urlencode({'': wanted})[1:]}")
        assert browser.get(back).headers.get("location", "/") == "/"


def refused(answer: httpx.Response) -> bool:
    """Whether nobody was signed in."""
    kept = [each for each in answer.headers.get_list("set-cookie") if "=autotune_session_" in each]
    return answer.status_code in {401, 403} and not kept


def test_a_sign_in_is_finished_once_and_by_its_own_browser(world: World) -> None:
    """Neither by a browser that was led there, nor with another state, nor again."""
    world.person("readers")
    with world.browser() as browser, world.browser() as victim:
        there = str(browser.get("/sign-in/begin").headers["location"])
        back = str(httpx.get(there).headers["location"])
        assert refused(victim.get(back))
        world.returned(victim)
        assert refused(victim.get(back))
        (name,), kept = browser.cookies, dict(browser.cookies)
        code = parse_qs(urlsplit(back).query)["code"][0]
        assert refused(browser.get("/sign-in/end", params={"code": code, "state": "ä"}))
        browser.cookies.update(kept)
        assert browser.get(back).status_code == 303
        browser.cookies.set(name, kept[name])
        assert refused(browser.get(back))
        # Nor if the provider hands out another code for the same sign-in.
        asked = {name: each[0] for name, each in parse_qs(urlsplit(there).query).items()}
        browser.post("/sign-out")
        browser.cookies.set(name, kept[name])
        assert refused(browser.get(world.fake.authorize(asked)))


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "tuner"},
        {"aud": [CLIENT, "x"]},
        {"aud": [CLIENT, "x"], "azp": "x"},
        {"iss": "http://127.0.0.1:1"},
        {"exp": 1},
        {"groups": ["strangers"]},
        {"groups": []},
    ],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    world: World, claims: dict[str, object]
) -> None:
    """And so are people who belong to no project."""
    world.person("readers")
    with world.browser() as browser:
        back = world.returned(browser)
        exchange, world.fake.exchange = world.fake.exchange, _with(world.fake, claims)  # type: ignore[method-assign]
        try:
            assert refused(browser.get(back))
        finally:
            world.fake.exchange = exchange  # type: ignore[method-assign]
        assert browser.get("/v1/tunings").status_code == 401


def _with(fake: FakeProvider, claims: dict[str, object]):  # type: ignore[no-untyped-def] # noqa: ANN202
    def exchange(given: dict[str, str], _: str) -> dict[str, str]:
        nonce = fake.codes.pop(given["code"])["nonce"]
        return {"id_token": fake.token(**{"aud": CLIENT, "nonce": nonce, **claims})}

    return exchange


def test_a_program_shows_a_token(world: World) -> None:
    """It may do what its person may, by groups and by the members of projects."""
    world.person("readers", sub="robot")
    with world.program(world.fake.token()) as program:
        assert program.get("/v1/tunings").status_code == 200
        assert program.post("/v1/tunings", json=ASKED).status_code == 403
    Members(world.database).add("c", "person:robot", Role.EDITOR)
    with world.program(world.fake.token(jti="2")) as program:
        assert program.post("/v1/tunings", json=ASKED).json()["owner"] == "c"
    with world.program(world.fake.token(groups=[], sub="nobody")) as program:
        assert program.get("/v1/tunings").status_code == 403


def test_tokens_of_others_are_refused(world: World) -> None:
    """An identity token, another issuer's, an old one, one by another key, and a session."""
    world.person("readers")
    fake, now = world.fake, int(time.time())
    tokens = [
        fake.token(aud=CLIENT),
        fake.token(iss="http://127.0.0.1:1"),
        fake.token(exp=now - 60),
        fake.token(nbf=now + 600),
        fake.token(new_key("first")),
        fake.token(new_key("unknown")),
    ]
    for each in tokens:
        with world.program(each) as program:
            answer = program.get("/v1/tunings")
            assert (answer.status_code, answer.json()["code"]) == (401, "key-refused")
            assert answer.headers["www-authenticate"] == "Bearer"
    before = fake.fetched
    for _ in range(5):
        with world.program(fake.token(new_key("unknown"))) as program:
            assert program.get("/v1/tunings").status_code == 401
    assert fake.fetched <= before + 1


def test_a_provider_that_is_gone_is_told(tmp_path: Path) -> None:
    """Keys still work, people are told to try again."""
    oidc = {"issuer": "http://127.0.0.1:9", "url": "http://localhost", "client_id": CLIENT}
    settings = load_settings(data=tmp_path, root=ROOT, oidc={**oidc, "audience": "tuner"})
    fake = FakeProvider()
    fake.issuer = oidc["issuer"]
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        page = client.get("/sign-in/begin", follow_redirects=False)
        assert page.status_code == 503
        assert "does not answer" in page.text
        for _ in range(2):
            header = {"Authorization": f"Bearer {fake.token()}"}
            answer = client.get("/v1/tunings", headers=header)
            assert (answer.status_code, answer.json()["code"]) == (503, "provider-unavailable")
