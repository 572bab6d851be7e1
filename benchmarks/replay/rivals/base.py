"""What a sampler has to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from autotune.config import Configuration

Shown = Mapping[Configuration, float | None]
"""Examples per second of what was tried, in order; None for a trial without any."""


class Sampler(Protocol):
    """Proposes what to try next. Made anew for each search."""

    def propose(self, shown: Shown, untried: Sequence[Configuration]) -> Configuration:
        """Return one of the untried configurations."""
        ...
