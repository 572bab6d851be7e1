"""Who proposes what to try next: the search's own sampler, or any of Optuna's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial

from autotune.value import Scalar


class PosteriorSampler(RandomSampler):
    """Proposes what is expected to raise the best most, for each second (knowledge gradient).

    It says each parameter by itself: which ones there are follows from the strategy.
    """

    def __init__(self, proposes: Callable[[], Mapping[str, Scalar]]) -> None:
        super().__init__()
        self._proposes = proposes

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the value of a parameter of what promises most."""
        del study, trial, param_distribution
        return self._proposes()[param_name]


def sampler_named(name: str, seed: int) -> BaseSampler | None:
    """Return one of Optuna's samplers (`gp` needs torch), or None for the search's own, `auto`."""
    match name:
        case "tpe":
            return TPESampler(seed=seed, multivariate=True, group=True)
        case "random":
            return RandomSampler(seed=seed)
        case "gp":
            return GPSampler(seed=seed)
    return None
