"""How long the training is that a search is made for: the seconds that it can save."""

from __future__ import annotations

from enum import StrEnum

from autotune.value import Value

ASSUMED_SECONDS = 3600.0
"""Length of a training of which nothing is known."""


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
    examples: float | None = None
    """All examples that the training presents, each epoch counted; None where a time is known."""
    seconds: float | None = ASSUMED_SECONDS
    """Seconds in which the own settings take all steps; None where they follow from `examples`."""
    between: float = 0.0
    """Seconds that no setting changes: validation, callbacks and checkpoints between epochs."""
    at_most: bool = False
    """Whether it may end before, such as by EarlyStopping."""
