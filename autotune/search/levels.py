"""Whether a gang was lucky in how it started: some start well and others do not, and stay so.

Where half of all gangs run at a higher level, three runs of one are all there in an eighth of the
cases, agree to a percent, and show a gain that is none. No scatter tells, only more gangs do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

LEVELS = 0.2
"""Runs of one configuration, in their order, of which two neighbours lie so far apart as log(rate),
are of two levels."""
FEIGNED = 0.3
"""A gain of more than this, as log(ratio), is not made by the higher of two such levels; a smaller
one is not shown by runs of both, which are too few for that in a search."""
AT_ONE_LEVEL = 8
"""Gangs that agree before a smaller gain counts: so many are all at the higher of two equally
frequent levels in 0.4 % of cases."""


def has_two_levels(logs: Collection[float]) -> bool:
    """Return whether the log(rate) of runs of one configuration show two levels."""
    return any(above - below >= LEVELS for below, above in pairwise(sorted(logs)))


def agreeing(runs: Sequence[Collection[float]], surprises: Sequence[float]) -> int:
    """Return how many gangs, after the one that was chosen, show that they run at one level.

    Args:
        runs: log(rate) of the finals of each challenger.
        surprises: How far each exploring run lies from what the others let expect of it.
    """
    # The first run of a configuration agrees with itself, whatever its level is.
    finals = sum(len(logs) - 1 for logs in runs if logs and not has_two_levels(logs))
    explored = max(surprises) - min(surprises) if surprises else LEVELS
    return finals + (len(surprises) - 1 if explored < LEVELS else 0)
