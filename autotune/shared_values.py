"""Values that training processes share with the tuner; they need no library."""

from enum import StrEnum
from typing import NamedTuple


class Window(NamedTuple):
    """A run of consecutive steps, timed as a whole with one wait for the device at its end."""

    steps: int
    seconds: float
    ends: int = 0
    """Ends of epochs whose cost lies in it: metrics read and reset, callbacks, an input that
    begins anew."""


class Change(StrEnum):
    """What differs between two passes over a dataset."""

    NOTHING = "nothing"
    ORDER = "order"
    """The same examples come in another order."""
    EXAMPLES = "examples"
    """Some are others, or nobody knows."""


class Count(StrEnum):
    """What a number of examples says of how many there are."""

    EXACT = "exact"
    AT_MOST = "at most"
    """Some of the batches by which it was reckoned may hold fewer."""
    AT_LEAST = "at least"
    """Those in full batches, or those that were seen."""
    ABOUT = "about"
    """Two passes differ."""
