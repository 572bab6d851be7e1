"""Optuna's samplers over a finite pool.

They propose points of the full grid; the untried configuration nearest to one is taken. What is
learned is always what was run, never the point that was proposed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.trial import TrialState, create_trial

from autotune.config import Configuration
from autotune.search.design import nearest
from autotune.search.history import History
from benchmarks.replay.rivals.base import shown

WORSE = math.log(2.0)
"""A configuration that failed counts as half as fast as the slowest: a sampler learns nothing
from a failed trial and would propose its neighbours again."""


class OptunaSampler:
    """A sampler of Optuna's.

    Args:
        pool: All configurations.
        sampler: Which.
    """

    def __init__(self, pool: Sequence[Configuration], sampler: optuna.samplers.BaseSampler) -> None:
        self._axes = _Axes(pool)
        self._known = 0
        self._worst = math.inf
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._study = optuna.create_study(sampler=sampler, direction="maximize")

    def propose(self, history: History, untried: Sequence[Configuration]) -> Configuration:
        """Return the untried configuration nearest to what the sampler wants."""
        told = list(shown(history).items())
        for configuration, rate in told[self._known :]:
            self._learn(configuration, rate)
        self._known = len(told)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            asked = self._study.ask(self._axes.distributions)
        wish = self._axes.decode(asked.params, like=untried[0])
        self._study.tell(asked, state=TrialState.FAIL)
        return nearest(wish, untried)

    def _learn(self, configuration: Configuration, rate: float | None) -> None:
        value = math.log(rate) if rate else self._worst - WORSE
        self._worst = min(self._worst, value)
        self._study.add_trial(
            create_trial(
                state=TrialState.COMPLETE,
                value=value,
                params=self._axes.encode(configuration),
                distributions=self._axes.distributions,
            )
        )


class _Axes:
    """The axes that vary in a pool; whole numbers by rank, so that their order is known."""

    def __init__(self, pool: Sequence[Configuration]) -> None:
        values: dict[str, list[Any]] = {}
        for configuration in pool:
            for name, value in configuration.values().items():
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
        found = configuration.values()
        return {name: values.index(found[name]) for name, values in self._values.items()}

    def decode(self, ranks: dict[str, int], like: Configuration) -> Configuration:
        chosen = {name: self._values[name][rank] for name, rank in ranks.items()}
        return like.taking(chosen)


def _ordered(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values) if _ordered(values) else values
