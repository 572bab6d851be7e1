"""People who sign in at a reverse proxy, here Caddy, and what others make of its headers."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from benchmarks.service.site import Site, address_of, running, until

pytestmark = pytest.mark.skipif(
    not shutil.which("caddy"), reason="Caddy is not here: `apt-get install caddy`"
)
PASSWORD = "geheim"  # noqa: S105 - of nothing
HASH = "$2a$14$T93GCGNjSZIrLj7og7Iqd.jGWiMnCqZW0.eQCtR2a5ZFN2XMwWgbK"
CONFIGURATION = """
{{
	admin off
	auto_https off
}}
http://127.0.0.1:{port} {{
	basicauth {{
		anna {hash}
		otto {hash}
		eve {hash}
	}}
	map {{http.auth.user.id}} {{groups}} {{
		anna "runners, vision-team"
		otto guests
		default ""
	}}
	reverse_proxy {api} {{
		header_up X-Forwarded-User {{http.auth.user.id}}
		header_up X-Forwarded-Groups {{groups}}
		header_up -Authorization
	}}
}}
"""
TRUSTED = {
    "addresses": ["127.0.0.1/32"],
    "projects": {
        "vision-team": {"project": "vision"},
        "guests": {"project": "vision", "scopes": ["read"]},
    },
}
FORGED = {
    "X-Forwarded-User": "anna",
    "X-Forwarded-Groups": "vision-team",
    "X-Forwarded-For": "127.0.0.1",
}
ASKED = {"workload": "digits", "space": "quick"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("service")
    site = Site(
        folder=folder,
        database=f"sqlite:///{folder / 'service.db'}",
        engine="service_engines:quick",
        changes={"PROXY": json.dumps(TRUSTED), "WEB__HOSTS": '["127.0.0.1"]'},
    )
    process = site.start("serve", "api", "--port", "0", "--host", "0.0.0.0")  # noqa: S104 - for 127.0.0.2
    with running(process):
        yield address_of(process).replace("0.0.0.0", "127.0.0.1")  # noqa: S104


@pytest.fixture(scope="module")
def proxy(api: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("proxy")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shown = CONFIGURATION.format(port=port, hash=HASH, api=api.removeprefix("http://"))
    (folder / "Caddyfile").write_text(shown)
    words = ("run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile")
    command = [shutil.which("caddy") or "caddy", *words]
    own = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=own)
    with running(process):
        address = f"http://127.0.0.1:{port}"
        until(lambda: _answers(address), 60)
        yield address


def _answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code == 401
    except httpx.TransportError:
        return False


def browser(proxy: str, name: str, **headers: str) -> httpx.Client:
    own = {"Origin": proxy, "Sec-Fetch-Site": "same-origin", **headers}
    return httpx.Client(base_url=proxy, auth=(name, PASSWORD), headers=own, timeout=60)


def test_people_are_let_in_by_their_groups(proxy: str) -> None:
    """Each may do what the settings grant to the groups, in their project; others nothing."""
    with browser(proxy, "anna") as anna, browser(proxy, "otto") as otto:
        made = anna.post("/v1/tunings", json=ASKED)
        assert (made.status_code, made.json()["project"]) == (202, "vision")
        assert made.json()["created_by"] == "person:anna"
        (seen,) = otto.get("/v1/tunings").json()["tunings"]
        assert seen["id"] == made.json()["id"]
        assert otto.post("/v1/tunings", json=ASKED).json()["code"] == "scope-missing"
        page = anna.get("/")
        assert (page.status_code, "anna" in page.text) == (200, True)
    with browser(proxy, "eve") as eve:
        refused = eve.get("/")
        assert refused.status_code == 403
        assert "None of your groups may use this service." in refused.text


def test_what_a_caller_says_through_the_proxy_counts_for_nothing(proxy: str) -> None:
    with browser(proxy, "eve", **FORGED) as eve:
        assert eve.get("/v1/tunings").status_code == 403


def test_headers_of_another_address_are_not_believed(api: str) -> None:
    """Though it says to pass on what comes from the proxy's; there a key is needed."""
    elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
    with httpx.Client(base_url=api, transport=elsewhere, headers=FORGED) as stranger:
        assert stranger.get("/healthz").status_code == 200
        refused = stranger.get("/v1/tunings")
        assert (refused.status_code, refused.json()["code"]) == (401, "key-missing")
    with httpx.Client(base_url=api, headers=FORGED) as trusted:
        assert trusted.get("/v1/tunings").status_code == 200
        # A session of before, which is over, keeps nobody out whom the proxy vouches for.
        session = f"autotune_session_{api.rpartition(':')[2]}=autotune_session_{'x' * 43}"
        assert trusted.get("/v1/tunings", headers={"Cookie": session}).status_code == 200


def test_a_person_is_named_once(api: str) -> None:
    """A proxy that adds its header to the caller's, and does not replace it, lets nobody in."""
    twice = [("X-Forwarded-User", "anna"), ("X-Forwarded-User", "eve")]
    with httpx.Client(base_url=api) as client:
        refused = client.get("/v1/tunings", headers=httpx.Headers(twice))
        assert (refused.status_code, refused.json()["code"]) == (401, "key-refused")
