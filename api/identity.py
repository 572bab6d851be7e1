"""Callers: keys, and people who sign in at a reverse proxy, which names them in headers."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Annotated

from pydantic import Field

from autotune.base import Value
from autotune.wire.errors import KeyRefused, ScopeMissing

PERSON = "person:"
"""Beginning of the id of a person, and of no key."""
_HeaderName = Annotated[str, Field(pattern="^[A-Za-z0-9-]{1,100}$")]
_ProjectName = Annotated[str, Field(min_length=1, max_length=100)]


class Scope(StrEnum):
    """A permission of a caller in its project."""

    READ = "read"
    """Read jobs, workloads, spaces, workers and metrics."""
    WRITE = "write"
    """Ask for jobs, and cancel them."""
    CODE = "code"
    """Upload code, and have it run."""
    ADMIN = "admin"
    """Let a job go before others."""


class Caller(Value):
    """A key, or a person whom a proxy vouches for."""

    id: str
    name: str
    project: str
    """The project whose jobs it sees, and to which its own belong."""
    scopes: frozenset[Scope] = frozenset()

    def require(self, scope: Scope) -> None:
        if scope not in self.scopes:
            raise ScopeMissing(f"This key lacks the scope {scope}.", "Use a key that has it.")


class Grant(Value):
    project: _ProjectName
    scopes: Annotated[frozenset[Scope], Field(min_length=1)] = frozenset({Scope.READ, Scope.WRITE})


class TrustedProxy(Value):
    addresses: Annotated[tuple[IPv4Network | IPv6Network, ...], Field(min_length=1)]
    """Where its connections come from; headers of other addresses count for nothing."""
    user: _HeaderName = "X-Forwarded-User"
    groups: _HeaderName = "X-Forwarded-Groups"
    projects: Annotated[Mapping[str, Grant], Field(min_length=1)]
    """By group; a person in several gets the project of the first that is listed here."""

    def caller(self, peer: str, header: Callable[[str], Sequence[str]]) -> Caller | None:
        """Return the person whom the proxy names; None for another peer, or without a name."""
        # In UTF-8; Starlette reads headers as Latin-1.
        users, groups = (
            [each.encode("latin-1").decode("utf-8", "replace") for each in header(name)]
            for name in (self.user, self.groups)
        )
        if not users or not self._is_proxy(peer):
            return None
        if len(users) > 1 or not users[0].isprintable() or not 0 < len(users[0]) <= 200:
            raise KeyRefused(f"The header {self.user} names no person.", "Ask the operator.")
        mine = {each.strip() for line in groups for each in line.split(",")}
        grants = [grant for group, grant in self.projects.items() if group in mine]
        if not grants:
            raise ScopeMissing("None of your groups may use this service.", "Ask the operator.")
        project = grants[0].project
        scopes = frozenset().union(*(each.scopes for each in grants if each.project == project))
        return Caller(id=f"{PERSON}{users[0]}", name=users[0], project=project, scopes=scopes)

    def _is_proxy(self, peer: str) -> bool:
        try:
            found = ip_address(peer)
        except ValueError:
            return False
        # A server that listens on both sees IPv4 so.
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self.addresses)
