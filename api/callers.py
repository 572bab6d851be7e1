"""Callers, and what they may do: each belongs to one project, and has scopes there."""

from __future__ import annotations

from enum import StrEnum

from autotune.api.errors import ScopeMissing
from autotune.value import Value


class Scope(StrEnum):
    """What a caller may do in its project."""

    READ = "read"
    """Read jobs, workloads, spaces, workers and metrics."""
    WRITE = "write"
    """Ask for jobs, and cancel them."""
    ADMIN = "admin"
    """Create and revoke the project's keys, let a job go before others, and drain workers."""


class Caller(Value):
    """A key, or a person whom a proxy vouches for."""

    id: str
    name: str
    project: str
    """Whose jobs it sees, and whose its jobs are."""
    scopes: frozenset[Scope] = frozenset()

    def require(self, scope: Scope) -> None:
        if scope not in self.scopes:
            raise ScopeMissing(f"This key lacks the scope {scope}.", "Use a key that has it.")
