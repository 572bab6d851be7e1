"""The gradients of small batches at fixed weights, added up, and what they tell.

For the gradient of one example with mean G and covariance S, the sums of a few micro-batches give
estimates of |G|^2 and of the trace of S (McCandlish et al., 2018, appendix A.1), and of the
progress of a small step of Adam at any batch. Each is also made without one group of micro-batches
at a time, so that whatever is computed from them has a jackknife error.
"""

from typing import Any

import numpy as np

from autotune.learning.efficiency import BATCHES, GradientProbe, Moments

GROUPS = 8
"""Of micro-batches; each is left out once."""
FEWEST = 2 * GROUPS
"""Micro-batches with which anything is said."""


class GradientSums:
    """Adds up gradients of micro-batches of so many examples, so that none has to be kept."""

    def __init__(self, elements: int, batch: int) -> None:
        self._batch = batch
        self._sums = np.zeros((GROUPS, elements))
        self._squares = np.zeros((GROUPS, elements))
        self._counts = np.zeros(GROUPS)

    def __len__(self) -> int:
        return int(self._counts.sum())

    def add(self, gradient: Any) -> None:
        """Add the gradient of one; what is not finite is left out."""
        gradient = np.asarray(gradient, dtype=np.float64)
        if not np.isfinite(gradient).all():
            return
        group = len(self) % GROUPS
        self._sums[group] += gradient
        self._squares[group] += gradient**2
        self._counts[group] += 1

    def probe(self, step: int) -> GradientProbe | None:
        """Return what they tell after so many steps of the training; None if there are too few."""
        if len(self) < FEWEST:
            return None
        groups = np.arange(GROUPS)
        return GradientProbe(
            step=step,
            whole=self._moments(groups),
            without=tuple(self._moments(groups[groups != left_out]) for left_out in groups),
        )

    def _moments(self, groups: Any) -> Moments:
        count = self._counts[groups].sum()
        mean = self._sums[groups].sum(axis=0) / count
        variance = (self._squares[groups].sum(axis=0) / count - mean**2) * count / (count - 1)
        # Of the mean of `count` micro-batches, whose square is too large by that.
        error = variance / count
        product = self._mean(groups[::2]) * self._mean(groups[1::2])
        return Moments(
            trace=_rounded(variance.sum() * self._batch),
            square=_rounded((mean**2 - error).sum()),
            progress=tuple(map(_rounded, self._progress(product, mean**2 - error, variance))),
        )

    def _mean(self, groups: Any) -> Any:
        return self._sums[groups].sum(axis=0) / self._counts[groups].sum()

    def _progress(self, product: Any, square: Any, variance: Any) -> list[float]:
        """Return it for each batch.

        The product, of the means of two halves, is G_i^2 without bias; the square, of all, is for
        the root. The variance is that of a micro-batch's elements.
        """
        square, example = np.maximum(square, 0.0), variance * self._batch
        # The last term keeps the root from zero.
        return [float((product / np.sqrt(square + example / b + 1e-16)).sum()) for b in BATCHES]


def _rounded(value: float) -> float:
    """Return a number with five digits, as hundreds are saved that are good to two or three."""
    return float(f"{value:.5g}")
