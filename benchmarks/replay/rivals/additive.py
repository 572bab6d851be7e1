"""Ridge regression: each axis has its own effect on log(rate), and the best guess is tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autotune.config import Configuration
from autotune.search.history import History
from benchmarks.replay.rivals.base import shown

RIDGE = 0.05
"""How strongly the terms are drawn towards zero; a value seen once keeps 95 % of its effect."""


class Additive:
    """Proposes what an additive model expects most of."""

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration:
        """Return the untried configuration of which most is expected."""
        rates = {c: rate for c, rate in shown(history).items() if rate}
        if not rates:
            return untried[0]
        levels = sorted({pair for c in rates for pair in c.values().items()}, key=repr)
        rows, logs = _rows(list(rates), levels), np.log(list(rates.values()))
        gram = rows.T @ rows + RIDGE * np.eye(len(levels))
        terms = np.linalg.solve(gram, rows.T @ (logs - logs.mean()))
        return untried[int(np.argmax(_rows(untried, levels) @ terms))]


def _rows(configurations: Sequence[Configuration], levels: Sequence[object]) -> np.ndarray:
    place = {level: column for column, level in enumerate(levels)}
    rows = np.zeros((len(configurations), len(levels)))
    for row, configuration in enumerate(configurations):
        for pair in configuration.values().items():
            if pair in place:
                rows[row, place[pair]] = 1.0
    return rows
