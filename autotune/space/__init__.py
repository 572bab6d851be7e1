"""The search space: which values each axis may take, and which combinations can run here."""

from autotune.space.enumerate import (
    ONE_DEVICE,
    Candidates,
    Limit,
    candidates,
    check_own_axes,
    part_of,
)
from autotune.space.legality import Situation, why_alone
from autotune.space.ready_made import AUTO, load_space, ready_made, space_for
from autotune.space.schema import Space, check_arguments, parse_space

__all__ = [
    "AUTO",
    "ONE_DEVICE",
    "Candidates",
    "Limit",
    "Situation",
    "Space",
    "candidates",
    "check_arguments",
    "check_own_axes",
    "load_space",
    "parse_space",
    "part_of",
    "ready_made",
    "space_for",
    "why_alone",
]
