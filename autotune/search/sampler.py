"""Who proposes what to try next: the search's own sampler, or any of Optuna's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial

from autotune.value import Scalar

Proposes = Callable[[], Mapping[str, Scalar]]


class PosteriorSampler(BaseSampler):
    """Proposes what is expected to raise the best most, for each second (knowledge gradient).

    Args:
        proposes: Tells the parameters of it.
    """

    def __init__(self, proposes: Proposes) -> None:
        self._proposes = proposes

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return nothing: which parameters there are follows from the strategy."""
        del study, trial
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return nothing, as above."""
        del study, trial, search_space
        return {}

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
    """Return one of Optuna's samplers, or None for the search's own.

    Args:
        name: `auto`, `tpe`, `gp` (which needs torch) or `random`.
        seed: Of its random numbers.
    """
    match name:
        case "tpe":
            return TPESampler(seed=seed, multivariate=True, group=True)
        case "random":
            return RandomSampler(seed=seed)
        case "gp":
            return GPSampler(seed=seed)
    return None
