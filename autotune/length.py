"""How long the training is that a search is made for: the seconds that it can save."""

from __future__ import annotations

from enum import StrEnum

from autotune.base import Value

ASSUMED_SECONDS = 3600.0
"""Length of a training of which nothing is known."""
LONGEST_SECONDS = 365 * 24 * 3600.0
"""A year: a longer time for a training is taken for a mistake."""


class Source(StrEnum):
    """Where the length of a training comes from."""

    SCRIPT = "script"
    """The epochs and steps of the script's own `fit`."""
    EPOCHS = "epochs"
    """The user's number of epochs."""
    TRAIN_FOR = "train_for"
    """The user's own time."""
    ASSUMED = "assumed"
    """Nothing is known: an hour."""


class Length(Value):
    """Length of a training by the user's own settings: `examples`, or else `seconds`, are known."""

    source: Source = Source.ASSUMED
    epochs: int | None = None
    """None where only a time is known."""
    examples: float | None = None
    """All examples that the training presents, each epoch counted; None where a time is known."""
    seconds: float | None = ASSUMED_SECONDS
    """Seconds in which the own settings take all steps; None where they follow from `examples`."""
    between: float = 0.0
    """Seconds that no setting changes: validation, callbacks and checkpoints between epochs."""
    at_most: bool = False
    """Whether it may end before, such as by EarlyStopping."""

    def seconds_at(self, examples_per_second: float | None) -> float | None:
        """Return the time of the whole training where the own settings reach a rate.

        None where that follows from a rate that is not known.
        """
        if self.examples is None:
            return self.between + (self.seconds or 0.0)
        if not examples_per_second:
            return None
        return self.between + self.examples / examples_per_second
