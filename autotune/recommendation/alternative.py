"""A configuration that was not chosen, and what speaks for it."""

from __future__ import annotations

from autotune.config import Configuration
from autotune.measure import Interval
from autotune.value import Value


class Alternative(Value):
    """The fastest configuration among those that train as the user's own settings do."""

    configuration: Configuration
    examples_per_second: Interval
    share: float
    """Its throughput as a share of the recommended configuration's."""
