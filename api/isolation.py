"""Whether a search gets a network of its own: the operator's choice, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Isolation(StrEnum):
    """What the operator wants."""

    AUTO = "auto"
    """A network of its own where the system allows it."""
    REQUIRED = "required"
    """No search without one."""
    OFF = "off"
    """The machine's network, for workloads that read their data from elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """The network that a search has."""

    own: bool
    """Nobody outside reaches the servers of its gang."""
    why: str = ""
    """Why it is the machine's, in a few words."""

    def __str__(self) -> str:
        """Return it in a sentence, for whoever follows the job."""
        if self.own:
            return (
                "The search runs in its own network namespace; its workers are not reachable "
                "from outside."
            )
        return f"The search uses the machine's network ({self.why})."
