"""What the user asks of a search, beside workload and space."""

from __future__ import annotations

from pydantic import Field

from autotune.space import Constraints
from autotune.value import Value

MARGIN = 0.03
"""A gain below this share is not worth the trouble of distribution, unless the user says so."""
SCRIPT_SEED = 0
"""Seed of the training inside every trial; the search's own seed must not change what is timed."""


class Options(Value):
    """Budget, bounds and seed of one search."""

    seconds: float | None = Field(default=180.0, gt=0)
    """Wall time of the whole search; None leaves the end to `max_trials`."""
    max_trials: int | None = Field(default=None, ge=1)
    """Trials before the finals; None leaves the end to the time."""
    constraints: Constraints = Constraints()
    margin: float = Field(default=MARGIN, ge=0)
    """A gain below this share is not worth the trouble of distribution."""
    objective: str = "throughput"
    """Name of what is optimized."""
    seed: int = 0
    diagnose: bool = True
    """Whether to find out at the end where the time of a step goes."""
