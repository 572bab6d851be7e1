"""Distances between sketches of variables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autotune.run.observation import Numbers


def distance(one: Numbers, other: Numbers) -> float:
    """Return how far two copies of a variable are apart, about."""
    return math.dist(one, other)


def norm(one: Numbers) -> float:
    """Return how large the numbers of a variable are together, about."""
    return math.hypot(*one)


def together(lengths: Sequence[float]) -> float:
    """Return the length of several parts at right angles."""
    return math.hypot(*lengths)
