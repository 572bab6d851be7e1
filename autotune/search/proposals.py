"""Which configuration to try next, once the first ones are known."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)
from optuna.exceptions import ExperimentalWarning
from optuna.trial import TrialState, create_trial

from autotune.config import Configuration
from autotune.search.design import nearest
from autotune.search.study import parameters

WORSE = math.log(2.0)
"""A configuration that failed counts as half as fast as the slowest: a sampler learns nothing
from a failed trial and would propose its neighbours again."""


class Proposer:
    """Tree-structured Parzen estimator over a finite pool.

    Optuna's TPE proposes a point of the full grid; the untried configuration nearest to it is
    taken. What is learned is always what was run, never the point that was proposed.

    Args:
        pool: All configurations of this part of the search.
        seed: Of the sampler.
    """

    def __init__(self, pool: Sequence[Configuration], seed: int) -> None:
        self._axes = _Axes(pool)
        self._worst = 0.0
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=4)
        self._study = optuna.create_study(sampler=sampler, direction="maximize")

    def learn(self, configuration: Configuration, rate: float | None) -> None:
        """Take in a result: examples per second, or None for a trial without any."""
        if rate is None:
            value = self._worst - WORSE
        else:
            value = math.log(rate)
            self._worst = min(self._worst or value, value)
        self._study.add_trial(
            create_trial(
                state=TrialState.COMPLETE,
                value=value,
                params=self._axes.encode(configuration),
                distributions=self._axes.distributions,
            )
        )

    def propose(self, untried: Sequence[Configuration]) -> Configuration:
        """Return the next configuration to try, one of `untried`."""
        asked = self._study.ask(self._axes.distributions)
        wish = self._axes.decode(asked.params, like=untried[0])
        self._study.tell(asked, state=TrialState.FAIL)
        return nearest(wish, untried)


class _Axes:
    """The axes that vary in a pool; whole numbers by rank, so that their order is known."""

    def __init__(self, pool: Sequence[Configuration]) -> None:
        values: dict[str, list[Any]] = {}
        for configuration in pool:
            for name, value in parameters(configuration).items():
                if value not in values.setdefault(name, []):
                    values[name].append(value)
        self._values = {name: _sorted(found) for name, found in values.items() if len(found) > 1}
        self.distributions: dict[str, BaseDistribution] = {
            name: IntDistribution(0, len(found) - 1)
            if _ordered(found)
            else CategoricalDistribution(tuple(range(len(found))))
            for name, found in self._values.items()
        }

    def encode(self, configuration: Configuration) -> dict[str, int]:
        found = parameters(configuration)
        return {name: values.index(found[name]) for name, values in self._values.items()}

    def decode(self, ranks: dict[str, int], like: Configuration) -> Configuration:
        chosen = {name: self._values[name][rank] for name, rank in ranks.items()}
        own = tuple((name, chosen.pop(name, value)) for name, value in like.arguments)
        return like.model_copy(update={**chosen, "arguments": own})


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values) if _ordered(values) else values
