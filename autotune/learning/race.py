"""Trainings to one loss on held-out examples: what a batch needs, measured instead of predicted.

A training at the user's own batch sets the loss. The others go on until they have reached it, or
have needed so many examples that their speed cannot make up for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean
from typing import NamedTuple

from autotune.value import Value


class Examples(NamedTuple):
    """To the same loss, per example of the user's own batch."""

    low: float
    value: float
    high: float


class Unraced(StrEnum):
    """Why no batches were trained to the same loss."""

    NO_RIVAL = "no rival"
    """No other batch that was measured may pay."""
    NO_TIME = "no time"
    """The budget is too short for two seeds of two batches."""
    CHANGING = "changing"
    """Each pass gives other examples, so none can be held out."""
    PADDED = "padded"
    """The examples of a batch are padded alike, so none can be told from the others."""
    UNCOUNTED = "uncounted"
    """Nobody knows how many examples there are, or they never end."""
    FEW = "few"
    """Too few examples to hold some out."""
    FAILED = "failed"
    """A training at the user's own batch ended with an error, or did not come to a loss."""
    NOT_OFFERED = "not offered"
    """The engine does not offer such trainings."""


class Look(NamedTuple):
    """A look at the held-out examples during a training."""

    examples: int
    """Trained on so far."""
    loss: float


class Curve(Value):
    """The held-out loss over one training."""

    looks: tuple[Look, ...] = ()
    held_out: int = 0
    """Examples that it did not train on."""
    refused: Unraced | None = None
    """Why there is no such training."""
    detail: str = ""
    """What it said at its end, where it failed."""


class Trained(Value):
    """A training that took part, to be drawn."""

    batch: int
    seed: int
    reached: float | None = None
    """Examples to the loss; None if it did not come to it."""
    looks: tuple[Look, ...] = ()
    """Smoothed, and some of many."""


class Raced(Value):
    """A batch that was trained to the loss."""

    batch: int
    needed: Examples
    """To the loss, per example of the user's own batch, with a 95 % interval over seeds."""
    ratios: tuple[float, ...]
    """The same of each seed; of one that did not come to the loss, where it was given up."""
    unreached: int = 0
    """Seeds that did not come to it."""


class Race(Value):
    """Trainings of several batches to the same loss."""

    refused: Unraced | None = None
    """Why there were none; None where there were."""
    loss: float = 0.0
    """Mean over the held-out examples, as the model computes it."""
    held_out: int = 0
    """Examples that none of them trained on."""
    validates: bool = False
    """Whether these are what the user validates with."""
    raced: tuple[Raced, ...] = ()
    """In the order of their batches."""
    trainings: tuple[Trained, ...] = ()
    """Of these batches and the user's own, one seed after the other; older results have none."""
    seconds: float = 0.0
    """That all trainings took."""

    def of(self, batch: int) -> Raced | None:
        """Return what was found of a batch."""
        return next((each for each in self.raced if each.batch == batch), None)


def smoothed(looks: Sequence[Look]) -> list[Look]:
    """Return the mean loss of each look and its two neighbours; the ends have too few."""
    triples = zip(looks, looks[1:], looks[2:], strict=False)
    return [Look(b.examples, fmean((a.loss, b.loss, c.loss))) for a, b, c in triples]


def thinned(looks: Sequence[Look], most: int) -> tuple[Look, ...]:
    """Return at most so many looks, and the last one, which are about equally far apart."""
    apart = -(-len(looks) // most)
    return tuple(looks[::-1][:: max(apart, 1)][::-1])


def lowest(looks: Sequence[Look]) -> float | None:
    """Return the loss that a training has come to; None where it was looked at too seldom."""
    return min((each.loss for each in smoothed(looks)), default=None)


def examples_to(looks: Sequence[Look], loss: float) -> float | None:
    """Return the examples after which a training came to a loss; None if it did not."""
    before: Look | None = None
    for each in smoothed(looks):
        if each.loss <= loss:
            if before is None:
                return float(each.examples)
            share = (before.loss - loss) / (before.loss - each.loss)
            return before.examples + share * (each.examples - before.examples)
        before = each
    return None
