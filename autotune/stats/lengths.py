"""How far the lengths of some examples are from those of all, where lengths vary."""

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
        """Return the standard error of log(mean length) of the examples that a run has seen.

        A step takes about as long as its examples, so that this is what other examples add to the
        error of its rate. A run may have seen any stretch of an epoch. Stretches of less than a
        part, and of an epoch whose end nobody knows, scatter as independent draws of parts do.

        Args:
            steps: That count.
        """
        seen = steps / self.steps
        if len(self.parts) < 2 or seen <= 0:
            return 0.0
        together = min(max(1, round(seen)), len(self.parts)) if self.whole else 1
        fewer = max(together / seen, 1.0) if self.whole else 1 / seen
        return min(_scatter(self.parts, together) * math.sqrt(fewer), self.scatter)


def _scatter(parts: tuple[float, ...], together: int) -> float:
    """Return the standard deviation of log(mean) of that many successive parts, round and round."""
    sums = [0.0, *accumulate([*parts, *parts])]
    means = [(sums[i + together] - sums[i]) / together for i in range(len(parts))]
    return pstdev(each / fmean(means) for each in means)
