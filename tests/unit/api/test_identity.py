"""What a provider's claims mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from autotune.api.errors import KeyRefused, SettingsError
from autotune.api.identity import IdentityProvider
from autotune.api.roles import Role, Scope
from autotune.api.settings import load_settings

GIVEN: dict[str, Any] = {
    "issuer": "https://login.example.org",
    "url": "https://tuner.example.org",
    "client_id": "autotune",
    "roles": {"readers": {"a": "viewer", "b": "viewer"}, "team-b": {"b": "editor"}},
    "operators": ["platform"],
}
SETTINGS = IdentityProvider(**GIVEN)


def test_groups_give_roles() -> None:
    """The greater one counts, and unknown groups give none."""
    found = SETTINGS.caller({"sub": "1", "name": "Anna", "groups": ["readers", "team-b", "x"]})
    assert (found.id, found.name) == ("person:1", "Anna")
    assert found.roles == {"a": Role.VIEWER, "b": Role.EDITOR}
    assert found.scopes == frozenset()


def test_operators_may_do_everything() -> None:
    """Whoever is in one of their groups."""
    assert SETTINGS.caller({"sub": "1", "groups": "platform"}).scopes == set(Scope)


@pytest.mark.parametrize(
    ("claim", "claims"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["readers"]}}),
        ("https://x.example/groups", {"https://x.example/groups": ["readers"]}),
    ],
)
def test_groups_may_be_anywhere(claim: str, claims: dict[str, Any]) -> None:
    """Within another claim, or under a name with dots."""
    found = IdentityProvider(**GIVEN | {"groups": claim}).caller({"sub": "1", **claims})
    assert found.roles["a"] is Role.VIEWER


@pytest.mark.parametrize("groups", [None, 7, {"a": 1}, [1, None], "readers "])
def test_odd_groups_give_nothing(groups: Any) -> None:
    """Whatever the provider sends."""
    assert SETTINGS.caller({"sub": "1", "groups": groups}).roles == {}


@pytest.mark.parametrize("name", [None, "", 7, ["a"], "a\n", "x" * 1000])
def test_whoever_is_not_named_is_refused(name: Any) -> None:
    """A name is a text that can be shown."""
    with pytest.raises(KeyRefused):
        SETTINGS.caller({"sub": name})


@pytest.mark.parametrize("verified", [None, False, "true", 1])
def test_an_address_must_be_proven(verified: Any) -> None:
    """Otherwise anybody could take somebody else's."""
    by_email = IdentityProvider(**GIVEN | {"person": "email"})
    claims = {"sub": "1", "email": "anna@example.org"}
    assert by_email.caller(claims | {"email_verified": True}).id == "person:anna@example.org"
    with pytest.raises(KeyRefused):
        by_email.caller(claims | {"email_verified": verified})


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://login.example.org"},
        {"url": "http://tuner.example.org"},
        {"url": "tuner.example.org"},
        {"issuer": "https://login.example.org/?x=1"},
        {"algorithms": ["none"]},
        {"algorithms": ["HS256"]},
        {"algorithms": []},
        {"roles": {"readers": {"a": "king"}}},
        {"client_secret": "x", "client_secret_file": "y"},
    ],
)
def test_settings_that_would_be_unsafe_are_refused(wrong: dict[str, Any]) -> None:
    """Plain HTTP but on loopback, and algorithms by which anybody can sign."""
    with pytest.raises(ValidationError):
        IdentityProvider(**GIVEN | wrong)


def test_loopback_needs_no_tls() -> None:
    """To try it out."""
    IdentityProvider(**GIVEN | {"issuer": "http://localhost:8080", "url": "http://127.0.0.1:8321"})


def test_the_secret_is_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes from a file or the environment."""
    path = tmp_path / "secret"
    path.write_text("hidden\n")
    from_file = IdentityProvider(**GIVEN | {"client_secret_file": path})
    for name in ("issuer", "url", "client_id"):
        monkeypatch.setenv(f"AUTOTUNE_SERVICE_OIDC__{name.upper()}", GIVEN[name])
    monkeypatch.setenv("AUTOTUNE_SERVICE_OIDC__CLIENT_SECRET", "hidden")
    settings = load_settings(data=tmp_path)
    assert settings.oidc
    assert from_file.secret() == settings.oidc.secret() == "hidden"
    assert "hidden" not in f"{from_file!r} {settings!r} {settings.model_dump_json()}"
    with pytest.raises(SettingsError):
        IdentityProvider(**GIVEN | {"client_secret_file": tmp_path / "nosuch"}).secret()
