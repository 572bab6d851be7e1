"""The provider of people's identities: what the operator says of it, and what its claims mean."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from autotune.api.callers import Caller, Scope
from autotune.api.errors import KeyRefused, SettingsError
from autotune.value import Value

LONGEST = 290
"""Of a person's name."""


def is_private(url: str) -> bool:
    """Return whether nobody between reads what is sent to an address: by TLS, or on this host."""
    parts = urlsplit(url)
    try:
        own = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        own = False
    return bool(parts.hostname) and parts.scheme in (("https", "http") if own else ("https",))


def _address(url: str) -> str:
    if not is_private(url) or "?" in url or "#" in url:
        raise ValueError("Input should be an address that begins with https://")
    return url


Address = Annotated[str, AfterValidator(_address)]


class Algorithm(StrEnum):
    """How tokens may be signed: only so that whoever checks them cannot make them."""

    RS256 = "RS256"
    RS384 = "RS384"
    RS512 = "RS512"
    PS256 = "PS256"
    PS384 = "PS384"
    PS512 = "PS512"
    ES256 = "ES256"
    ES384 = "ES384"
    ES512 = "ES512"
    ED25519 = "EdDSA"


class IdentityProvider(Value):
    """A provider of OpenID Connect."""

    issuer: Address
    """Its address, as its discovery document says it."""
    url: Address
    """This service's own address, as browsers call it."""
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: SecretStr | None = None
    """None for a client without one, or whose secret is in a file."""
    client_secret_file: Path | None = None
    audience: Annotated[str, Field(min_length=1)] | None = None
    """Whom the API's bearer tokens must be for; None takes none."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """What is asked for at sign-in; some providers tell groups only if asked."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = (
        Algorithm.RS256,
        Algorithm.ES256,
    )
    person: str = "sub"
    """The claim that names a person; one that never goes to somebody else."""
    groups: str = "groups"
    """The claim that lists a person's groups; dots lead into a claim's members."""
    projects: Mapping[str, str] = Field(default_factory=dict)
    """By group: the project of its people."""

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        if self.client_secret and self.client_secret_file:
            raise ValueError("client_secret and client_secret_file exclude each other")
        return self

    def secret(self) -> str | None:
        """Return the secret by which the provider knows this service.

        Raises:
            SettingsError: Its file cannot be read.
        """
        if self.client_secret_file is None:
            return self.client_secret.get_secret_value() if self.client_secret else None
        try:
            return self.client_secret_file.read_text("utf-8").strip()
        except (OSError, ValueError) as exc:
            raise SettingsError(
                f"The file {self.client_secret_file} cannot be read.", "Check its path and mode."
            ) from exc

    def caller(self, claims: Mapping[str, Any]) -> Caller:
        """Return whom claims that the provider has signed are about.

        Raises:
            KeyRefused: They name nobody, or an address that is not known to be theirs.
        """
        person = claims.get(self.person)
        unproven = self.person == "email" and claims.get("email_verified") is not True
        if unproven or not _is_name(person, LONGEST):
            raise KeyRefused(
                f"The provider does not vouch for a claim {self.person!r}.", "Ask the operator."
            )
        names = (claims.get(each) for each in ("name", "preferred_username", "email", self.person))
        projects = [self.projects[each] for each in self._groups(claims) if each in self.projects]
        return Caller(
            id=f"person:{person}",
            name=next((name for name in names if _is_name(name, 100)), "somebody"),
            project=projects[0] if projects else "",
            scopes=frozenset({Scope.READ, Scope.WRITE} if projects else ()),
        )

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        found: Any = claims.get(self.groups)
        if found is None:
            found = claims
            for part in self.groups.split("."):
                found = found.get(part) if isinstance(found, Mapping) else None
        listed = found if isinstance(found, list) else [found]
        return tuple(each for each in listed if isinstance(each, str))


def _is_name(text: object, longest: int) -> bool:
    return isinstance(text, str) and text.isprintable() and 0 < len(text) <= longest
