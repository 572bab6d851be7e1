"""A guess at the throughput of what was not run: each axis has its own effect.

Effects on throughput multiply nearly, so log(rate) is modelled as a sum of one term for each value
of each axis, with the terms drawn towards zero (ridge regression). What was learned on one device
about feeding and stepping thereby carries over to the distributed configurations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from autotune.config import Configuration
from autotune.search.study import parameters

RIDGE = 0.05
"""How strongly the terms are drawn towards zero; a value seen once keeps 95 % of its effect."""

Level = tuple[str, object]


class Additive:
    """An additive model of log(rate).

    Args:
        rates: Examples per second of what was run, at least one.
    """

    def __init__(self, rates: Mapping[Configuration, float]) -> None:
        levels = sorted({level for c in rates for level in _levels(c)}, key=repr)
        self._index = {level: column for column, level in enumerate(levels)}
        rows = np.array([self._row(c) for c in rates])
        logs = np.array([math.log(rate) for rate in rates.values()])
        self._mean = float(logs.mean())
        gram = rows.T @ rows + RIDGE * np.eye(len(levels))
        self._terms = np.linalg.solve(gram, rows.T @ (logs - self._mean))

    def predict(self, configuration: Configuration) -> float:
        """Return the expected log(rate); a value that was never seen counts as average."""
        return self._mean + float(self._row(configuration) @ self._terms)

    def best(self, pool: Sequence[Configuration]) -> Configuration:
        """Return the configuration of which most is expected."""
        return max(pool, key=self.predict)

    def _row(self, configuration: Configuration) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        row = np.zeros(len(self._index))
        for level in _levels(configuration):
            if level in self._index:
                row[self._index[level]] = 1.0
        return row


def _levels(configuration: Configuration) -> list[Level]:
    return list(parameters(configuration).items())
