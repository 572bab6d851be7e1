"""What the user holds fixed or bounds, over every strategy."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from autotune.value import Value, Whole

Count = Annotated[Whole, Field(ge=1)]


class Constraints(Value):
    """Bounds on the search that do not belong to the space."""

    global_batch: Count | None = None
    """Examples per step of all replicas together, the same in every configuration."""
    max_global_batch: Count | None = None
    strategies: tuple[str, ...] | None = None
    """Only these strategies of the space; one device is always measured, as the baseline."""
    workers: tuple[Count, ...] | None = None
    """Worker counts in place of the space's."""
    allow_asynchronous: StrictBool = False
    """Whether a strategy whose replicas do not wait for each other may win, which changes the
    training."""
