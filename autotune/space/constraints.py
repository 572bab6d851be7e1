"""What the user holds fixed or bounds, over every strategy."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autotune.value import Value


class Constraints(Value):
    """Bounds on the search that do not belong to the space."""

    global_batch: int | None = Field(default=None, ge=1)
    """Examples per step of all replicas together, the same in every configuration."""
    max_global_batch: int | None = Field(default=None, ge=1)
    strategies: tuple[str, ...] | None = None
    """Only these strategies of the space; one device is always measured, as the yardstick."""
    workers: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    """Worker counts in place of the space's."""
