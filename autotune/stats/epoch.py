"""What is known of the epochs of a run before it begins, and of the lengths of its examples."""

from __future__ import annotations

import math
from itertools import accumulate
from statistics import fmean, pstdev

from autotune.value import Value


class Lengths(Value):
    """Mean lengths of the examples in successive, equal parts of an epoch."""

    parts: tuple[float, ...] = ()
    """Empty where all examples are of one length."""
    scatter: float = 0.0
    """Standard deviation of the lengths, as a share of their mean; no run is further off."""
    steps: float = math.inf
    """Of a run, that take the examples of a part."""
    whole: bool = False
    """Whether the parts are all of an epoch, not only its beginning."""

    def error(self, steps: float) -> float:
        """Return the standard error of log(mean length) of what so many steps have seen.

        A step takes about as long as its examples, so that this is what other examples add to the
        error of its rate. A run may have seen any stretch of an epoch. Stretches of less than a
        part, and of an epoch whose end nobody knows, scatter as independent draws of parts do.
        """
        seen = steps / self.steps
        if len(self.parts) < 2 or seen <= 0:
            return 0.0
        together = min(max(1, round(seen)), len(self.parts)) if self.whole else 1
        fewer = max(together / seen, 1.0) if self.whole else 1 / seen
        return min(_scatter(self.parts, together) * math.sqrt(fewer), self.scatter)


class Epoch(Value):
    """An epoch, in steps of the run, and what lies at its ends."""

    steps: float = math.inf
    """Of a whole epoch; infinite where nobody knows."""
    ready: float = 0.0
    """Steps whose examples may be ready when the run begins, or that have to pass before its
    caches are filled."""
    steady_rate: float = 0.0
    """Steps that become ready in each second of the run."""
    pause: float = 0.0
    """Seconds for which the input alone waited as it began again, longer than between examples."""
    eventful: bool = False
    """Whether its end may cost something that a run has to see."""
    lengths: Lengths = Lengths()
    """Of its examples."""


UNKNOWN = Epoch()
"""An epoch of which nothing is known."""


def _scatter(parts: tuple[float, ...], together: int) -> float:
    """Return the standard deviation of log(mean) of that many successive parts, round and round."""
    sums = [0.0, *accumulate([*parts, *parts])]
    means = [(sums[i + together] - sums[i]) / together for i in range(len(parts))]
    return pstdev(each / fmean(means) for each in means)
