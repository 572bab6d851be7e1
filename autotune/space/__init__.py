"""The search space: which values each axis may take, and which combinations can run here."""

from autotune.space.candidates import Candidates, Limit, candidates
from autotune.space.constraints import Constraints
from autotune.space.ready_made import load_space, ready_made, space_for
from autotune.space.schema import Space

__all__ = [
    "Candidates",
    "Constraints",
    "Limit",
    "Space",
    "candidates",
    "load_space",
    "ready_made",
    "space_for",
]
