"""What a second pass over a dataset may change.

It needs no library: processes that train import it.
"""

from __future__ import annotations

from enum import StrEnum


class Change(StrEnum):
    """What differs between two passes over a dataset."""

    NOTHING = "nothing"
    ORDER = "order"
    """The same examples come in another order."""
    EXAMPLES = "examples"
    """Some are others, or nobody knows."""
