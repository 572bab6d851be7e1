"""What a search was asked for, so that it can be asked again."""

from __future__ import annotations

from autotune.space import Constraints
from autotune.value import Value


class Asked(Value):
    """The part of a call that no other field of a recommendation tells."""

    space: str | None = None
    """Name or file of the space; None for one that was made in Python."""
    seconds: float | None = None
    """The budget; None where only the number of trials ended the search."""
    max_trials: int | None = None
    constraints: Constraints = Constraints()
    diagnose: bool = True
