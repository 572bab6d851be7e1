"""Extremely randomized trees on log(rate); their disagreement is the uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.preprocessing import OrdinalEncoder

from autotune.config import Configuration
from autotune.search.history import History
from autotune.search.sampler import expected_improvement
from autotune.search.surrogate import Belief
from benchmarks.replay.rivals.base import shown


class Trees:
    """Proposes the largest expected improvement.

    Args:
        pool: All configurations.
        seed: Of the trees.
    """

    def __init__(self, pool: Sequence[Configuration], seed: int) -> None:
        rows = OrdinalEncoder().fit_transform(
            [[repr(value) for value in each.values().values()] for each in pool]
        )
        self._rows = dict(zip(pool, rows, strict=True))
        self._model = ExtraTreesRegressor(n_estimators=40, min_samples_leaf=1, random_state=seed)

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration:
        """Return the untried configuration with the largest expected improvement."""
        rates = {c: rate for c, rate in shown(history).items() if rate}
        if len(rates) < 3:
            return untried[0]
        logs = np.log(list(rates.values()))
        self._model.fit([self._rows[c] for c in rates], logs)
        asked = np.array([self._rows[c] for c in untried])
        votes = np.array([tree.predict(asked) for tree in self._model.estimators_])
        belief = Belief(votes.mean(axis=0), votes.std(axis=0) + 0.01)
        return untried[int(np.argmax(expected_improvement(belief, float(logs.max()))))]
