"""Whom the headers of a trusted proxy name, and what they may do."""

from collections.abc import Sequence

import pytest

from autotune.api.identity import Caller, Scope, TrustedProxy
from autotune.wire.errors import KeyRefused, ScopeMissing

PROXY = TrustedProxy.model_validate(
    {
        "addresses": ["10.0.0.0/8", "::1"],
        "projects": {
            "leads": {"project": "vision", "scopes": ["admin"]},
            "team": {"project": "vision"},
            "äudio": {"project": "speech", "scopes": ["read"]},
        },
    }
)


def found(groups: str, peer: str = "10.1.2.3", user: Sequence[str] = ("anna",)) -> Caller | None:
    shown = {PROXY.user: user, PROXY.groups: [groups]}
    # As a server gives the bytes of a header.
    return PROXY.caller(peer, lambda name: [e.encode().decode("latin-1") for e in shown[name]])


def test_groups_give_scopes_in_one_project() -> None:
    """The first of the settings tells which; those of other projects give nothing there."""
    anna = found(" äudio,team , unknown,leads")
    every = {Scope.READ, Scope.WRITE, Scope.ADMIN}
    assert (anna.id, anna.project, anna.scopes) == ("person:anna", "vision", every)
    otto = found("äudio", "::ffff:10.1.2.3", ["Ötto"])
    assert (otto.name, otto.project, otto.scopes) == ("Ötto", "speech", {Scope.READ})
    assert found("team", "::1")


@pytest.mark.parametrize("peer", ["11.0.0.1", "::2", "", "somewhere", "unix:"])
def test_other_addresses_name_nobody(peer: str) -> None:
    """Nor does a proxy that says no name; then a key decides."""
    assert found("team", peer) is found("team", user=()) is None


@pytest.mark.parametrize("user", [("",), ("a\x07",), ("x" * 201,), ("anna", "otto")])
def test_an_odd_name_is_refused(user: tuple[str, ...]) -> None:
    with pytest.raises(KeyRefused):
        found("team", user=user)


def test_whoever_is_in_no_group_is_refused() -> None:
    with pytest.raises(ScopeMissing, match="None of your groups"):
        found("teams")
