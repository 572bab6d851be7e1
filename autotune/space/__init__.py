"""The search space: which values each axis may take, and which combinations can run here."""

from autotune.space.candidates import Candidates, Limit, candidates
from autotune.space.ready_made import AUTO, load_space, ready_made, space_for
from autotune.space.reserved import check_arguments
from autotune.space.schema import Space, parse_space

__all__ = [
    "AUTO",
    "Candidates",
    "Limit",
    "Space",
    "candidates",
    "check_arguments",
    "load_space",
    "parse_space",
    "ready_made",
    "space_for",
]
