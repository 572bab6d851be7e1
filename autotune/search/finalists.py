"""Who takes part in the finals, and how long they will take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autotune.config import Configuration
from autotune.search.history import History
from autotune.search.verdict import FEWEST

CHALLENGERS = 2
"""Distributed finalists at most."""
SINGLES = 3
"""Single-device finalists at most."""
DEFAULT_ROUNDS = 2
"""Rounds in which the default takes part, to say what tuning gained; it stays if it leads."""
ENOUGH_ROUNDS = 8
"""Rounds that should fit, or there are too many finalists for the time: a gain of 7 % at 4 % noise
is told apart after so many. No more are set aside."""
SURE = 3.5
"""Standard errors by which two rates have to differ before the finals can tell them apart."""


@dataclass(frozen=True, kw_only=True)
class Finalists:
    """Who takes part."""

    one_device: tuple[Configuration, ...]
    """The best single-device configuration and others that may be as good."""
    challengers: tuple[Configuration, ...]
    default: Configuration | None
    """What Keras does by itself, to say what tuning gained; None if it could not be measured."""

    @property
    def all(self) -> tuple[Configuration, ...]:
        """Each once."""
        last = [self.default] if self.default else []
        return tuple(dict.fromkeys([*self.one_device, *self.challengers, *last]))


def choose_finalists(
    history: History,
    one_device: Sequence[Configuration],
    distributed: Sequence[Configuration],
    default: Configuration,
) -> Finalists:
    """Return the finalists: who is not certainly slower than the best.

    Args:
        history: What was measured.
        one_device: Single-device configurations, the most promising first; at least one.
        distributed: Distributed ones, likewise.
        default: What Keras does by itself.
    """
    best = history.estimate(one_device[0])
    close = best.value / (1 + history.noise.sd)
    others = [c for c in one_device[1:SINGLES] if history.estimate(c).value > close]
    rivals = history.not_surely_slower(distributed)
    return Finalists(
        one_device=(one_device[0], *others),
        challengers=tuple(rivals[:CHALLENGERS]),
        default=default if history.scores(default) else None,
    )


def fitting(finalists: Finalists, history: History, left: float) -> Finalists:
    """Return as many of the finalists as can run often enough in the time that is left.

    A decision between two is worth more than two looks at five: the second challenger goes first,
    then the other single devices one by one, then the default. Without a challenger there is
    nothing to decide, and the single devices are told apart for as long as the time lasts, if that
    is a round of them all.
    """
    one = replace(finalists, challengers=finalists.challengers[:1])
    fewer = [replace(one, one_device=one.one_device[:n]) for n in range(len(one.one_device), 0, -1)]
    smaller = [finalists, *fewer, replace(fewer[-1], default=None)]
    rounds = ENOUGH_ROUNDS if finalists.challengers else 1
    for each in smaller:
        if _seconds(history, each, rounds) <= left:
            return each
    return smaller[-1]


def finals_seconds(history: History, finalists: Finalists) -> float:
    """Return the wall time that a decision between the first two is expected to take.

    Others take part if there is time for them.
    """
    first = finalists.challengers[:1]
    rounds = _rounds(history, finalists, first[0]) if first else DEFAULT_ROUNDS
    two = replace(finalists, one_device=finalists.one_device[:1], challengers=first)
    return _seconds(history, two, rounds)


def _rounds(history: History, finalists: Finalists, challenger: Configuration) -> int:
    """Return how many rounds it should take to see on which side of the baseline one lies."""
    best = history.estimate(finalists.one_device[0]).value
    if not history.scores(challenger):
        return FEWEST
    gap = math.log(history.estimate(challenger).value / best)
    noise = history.noise.sd
    # Who was chosen for its gain has less of it than it showed.
    sure = max(gap - noise, gap / 2) if gap > 0 else -gap
    needed = math.ceil((SURE * math.sqrt(2) * noise / max(sure, 1e-9)) ** 2)
    # The time for more looks at one that seems slower is better spent on finding a faster one.
    return min(max(needed, FEWEST), ENOUGH_ROUNDS) if gap > 0 else min(needed, FEWEST)


def _seconds(history: History, finalists: Finalists, rounds: int) -> float:
    costs = history.costs
    default = costs.seconds(finalists.default) if finalists.default else 0.0
    # A second single device leaves when the baseline is settled.
    second = costs.total(finalists.one_device[1:])
    arms = [*finalists.one_device[:1], *finalists.challengers]
    return rounds * costs.total(arms) + min(rounds, FEWEST) * second + DEFAULT_ROUNDS * default
