"""How alike configurations are: the prior mean and covariance of log(score).

Effects on throughput multiply nearly, so log(score) is a sum: the offset of a strategy, a term for
each axis, one for each axis that depends on the strategy, one for each pair of axes, and one for
all axes together. What is learned on one device about feeding and stepping thereby carries over to
distributed configurations. Values of ordered axes are the more alike the closer they are.

Each axis has a size of its own: where the batch matters, the shard policy may not. The sizes are
parameters of the kernel, as logarithms, and the posterior draws them.
"""

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from autotune.axis import OWN_AXIS, AxisRole
from autotune.base import Scalar
from autotune.config import Configuration, axes

SHARED = (
    ("strategy", 0.25, 0.6),
    ("by strategy", 0.17, 0.9),
    ("pair", 0.3, 0.7),
    ("together", 0.02, 1.1),
)
"""Parameters of all axes: median and standard deviation of the logarithm. What a strategy changes,
whatever the axes are, is a size: often it is nothing, which is why a gain takes more runs to be
believed than two that differ. What it changes about an axis, and what two axes do together, are
shares of their sizes; what only one combination of all axes has is a size of its own."""
Matrix = NDArray[np.float64]


class Kernel:
    """The prior over a finite pool, whose configurations are named by position.

    It is computed for many sets of parameters at a time. Replicas may have devices of their own, or
    share cores.
    """

    def __init__(self, pool: Sequence[Configuration], *, shares_cores: bool = False) -> None:
        table = [each.values() for each in pool]
        names = [*dict.fromkeys(name for row in table for name in row)]
        every = {name: _Axis([row.get(name, "") for row in table]) for name in names}
        varying = {name: axis for name, axis in every.items() if axis.varies}
        self._axes = [*varying.values()]
        self._strategy = _Axis([row["strategy"] for row in table])
        known = {name: axes().get(name, OWN_AXIS) for name in varying}
        gains = {
            name: axis.gain
            for name, axis in known.items()
            if shares_cores or axis.role is not AxisRole.PLACEMENT
        }
        self.expected: Matrix = np.array(
            [sum(gain * _doublings(row.get(name)) for name, gain in gains.items()) for row in table]
        )
        """Prior mean of each configuration."""
        self.size = len(pool)
        sizes = [axis.effect for axis in known.values()]
        self.prior = np.array([*(each[1:] for each in SHARED), *sizes])
        """Median and standard deviation of the logarithm of each parameter."""

    def alike(self, these: Sequence[int], those: Sequence[int]) -> Matrix:
        """Return how alike two lists of configurations are: the strategy first, then each axis."""
        return np.array([axis.alike(these, those) for axis in (self._strategy, *self._axes)])

    def likeness(self, these: Sequence[int], those: Sequence[int]) -> Matrix:
        """Return exp(-number of axes that differ) for two lists of configurations."""
        found: Matrix = np.exp((self.alike(these, those)[1:] - 1).sum(0))
        return found

    def covariance(self, alike: Matrix, parameters: Matrix) -> Matrix:
        """Return the covariance of two lists of configurations under each set of parameters.

        Args:
            alike: As `alike` returned it.
            parameters: A row for each set, as logarithms, in the order of `prior`.

        Returns:
            Shape: sets of parameters, then as one of `alike`.
        """
        offset, by_strategy, pair, together = np.exp(parameters.T[: len(SHARED)])
        sizes = np.exp(parameters[:, len(SHARED) :])
        strategy, each = alike[0], alike[1:]
        whole = (slice(None), *[None] * strategy.ndim)
        single = np.tensordot(sizes**2, each, 1)
        # The sum over all pairs of axes of the products of their sizes and likenesses.
        pairs = np.tensordot(sizes, each, 1) ** 2 - np.tensordot(sizes**2, each**2, 1)
        found: Matrix = (
            3.0**2  # of the mean of all log scores, which is unknown
            + offset[whole] ** 2 * strategy
            + single * (1 + by_strategy[whole] ** 2 * strategy)
            + pair[whole] ** 2 * pairs / 2
            + together[whole] ** 2 * each.prod(0)
        )
        return found


class _Axis:
    """How alike the values of one axis are, for all pairs of configurations."""

    def __init__(self, values: Sequence[Scalar]) -> None:
        found = list(dict.fromkeys(values))
        self.varies = len(found) > 1
        self._table = np.array([[_likeness(a, b) for b in found] for a in found])
        self._index = np.array([found.index(value) for value in values])

    def alike(self, these: Sequence[int], those: Sequence[int]) -> Matrix:
        """Return it, from 0 to 1."""
        alike: Matrix = self._table[np.ix_(self._index[list(these)], self._index[list(those)])]
        return alike


def _likeness(a: Scalar, b: Scalar) -> float:
    if a == b and type(a) is type(b):
        return 1.0
    if _count(a) and _count(b):
        # The effect of a count is alike over two doublings.
        return math.exp(-abs(math.log2(float(a) / float(b))) / 2.0)
    return 0.0


def _doublings(value: Scalar | None) -> float:
    return math.log2(value) if _count(value) else 0.0


def _count(value: Scalar | None) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
