"""The configurations of a search as the parameters of an Optuna study.

The strategy is asked for first. What only one strategy has is a conditional parameter: it is
suggested under that strategy alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import optuna
from optuna.distributions import CategoricalDistribution

from autotune.config import Configuration
from autotune.value import Scalar

STRATEGY = "strategy"


class Parameters:
    """The parameters that stand for the configurations of a pool.

    Args:
        pool: All that may be tried.
        declared: Domains that the study has already, which Optuna never lets change.
    """

    def __init__(
        self, pool: Sequence[Configuration], declared: Mapping[str, CategoricalDistribution]
    ) -> None:
        values: dict[str, dict[str, dict[Scalar, None]]] = defaultdict(lambda: defaultdict(dict))
        for each in pool:
            for name, value in each.values().items():
                values[each.strategy][name][value] = None
        # An axis with one value says nothing, and every parameter costs the database two queries.
        self._axes = {
            strategy: [n for n, found in mine.items() if len(found) > 1 and n != STRATEGY]
            for strategy, mine in values.items()
        }
        choices: dict[str, dict[Scalar, None]] = defaultdict(dict)
        if len(values) > 1:
            choices[STRATEGY] = dict.fromkeys(values)
        for strategy, names in self._axes.items():
            for name in names:
                choices[name].update(values[strategy][name])
        self.distributions = {
            name: CategoricalDistribution(tuple(found)) for name, found in choices.items()
        } | dict(declared)
        self._strategies = tuple(values)
        self._known = {_key(self.of(each)): each for each in pool}

    def of(self, configuration: Configuration) -> dict[str, Scalar]:
        """Return the parameters of a configuration.

        Those are left out whose value no domain holds: of a study that goes on, another inspection
        may allow a value that is new.
        """
        shown = configuration.values()
        names = [STRATEGY, *self._axes.get(configuration.strategy, ())]
        return {
            name: shown[name]
            for name in names
            if name in self.distributions and shown[name] in self.distributions[name].choices
        }

    def suggested(self, trial: optuna.trial.Trial) -> Configuration | None:
        """Return the configuration that a trial suggests; None where there is none of the kind."""
        strategy = next(iter(self._strategies), "")
        found: dict[str, Scalar] = {}
        if STRATEGY in self.distributions:
            strategy = str(self._suggest(trial, STRATEGY))
            found[STRATEGY] = strategy
        for name in self._axes.get(strategy, ()):
            found[name] = self._suggest(trial, name)
        return self._known.get(_key(found))

    def _suggest(self, trial: optuna.trial.Trial, name: str) -> Scalar:
        value = trial.suggest_categorical(name, self.distributions[name].choices)
        return "" if value is None else value  # No axis has None.


def _key(parameters: Mapping[str, Scalar]) -> frozenset[tuple[str, str]]:
    return frozenset((name, repr(value)) for name, value in parameters.items())
