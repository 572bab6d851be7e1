"""Whether a gang was lucky in how it started: some start well and others do not, and stay so.

Where half of all gangs run at a higher level, three runs of one are all there in an eighth of the
cases, agree to a percent, and show a gain that is none. No scatter tells, only more gangs do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from autotune.stats import Estimate

BIMODAL = 0.2
"""Runs of one configuration, in their order, of which two neighbours lie so far apart as log(rate),
are of two levels."""
FEIGNED = 0.2
"""A gain above this, as log(ratio), is not made by the higher of two levels twice as far apart; a
smaller one is not shown by runs of both, which are too few for that in a search."""
LUCK = 0.5**8
"""How likely it may be that a gain is that of the higher level: as likely as that eight gangs in a
row are at the higher of two equally frequent levels. The challengers share it, as one of several is
the sooner lucky."""


def has_two_levels(logs: Collection[float]) -> bool:
    """Return whether the log(rate) of runs of one configuration show two levels."""
    return any(above - below >= BIMODAL for below, above in pairwise(sorted(logs)))


def agreeing(runs: Sequence[Collection[float]], surprises: Sequence[float]) -> int:
    """Return how many gangs, after the one that was chosen, show that they run at one level.

    Args:
        runs: log(rate) of the finals of each challenger.
        surprises: How far each exploring run lies from what the others let expect of it.
    """
    # The first run of a configuration agrees with itself, whatever its level is.
    finals = sum(len(logs) - 1 for logs in runs if logs and not has_two_levels(logs))
    explored = max(surprises) - min(surprises) if surprises else BIMODAL
    return finals + (len(surprises) - 1 if explored < BIMODAL else 0)


def may_be_a_level(
    gain: Estimate | None, gangs: int, *, mixed: bool, singles: int, challengers: int
) -> bool:
    """Return whether a gain may be no more than that of the higher of two levels.

    Where one device has two levels as well, a gain twice as large may be none; then all of its runs
    were at the lower one.

    Args:
        gain: As the finals show it.
        gangs: How many agree, the chosen one included.
        mixed: Whether runs of one challenger show two levels.
        singles: How many runs of one device agree.
        challengers: Among how many the gang was chosen.
    """
    if gain is None:
        return True
    lucky = 1.0 if mixed else 0.5**gangs
    of_gangs = lucky * gain.chance_below(FEIGNED)
    of_both = 0.0 if mixed else lucky * 0.5**singles * gain.chance_below(2 * FEIGNED)
    return max(of_gangs, of_both) > LUCK / challengers
