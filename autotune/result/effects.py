"""How much each axis matters, by an additive model of the throughput.

The logarithm of a configuration's throughput is taken for a sum of effects, one for each value of
each axis, found by ridge regression. How far they are drawn towards zero is chosen by what predicts
configurations that were left out best (in closed form), and that same prediction says whether
the model may be believed at all.

Optuna's own measures do not fit: fANOVA and MDI need scikit-learn, and PED-ANOVA asks what sets the
best tenth apart, of which a search of twenty trials has two. Each tells a share without an
uncertainty; an effect is a factor with an interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from autotune.axis import AxisRole
from autotune.config import Configuration, axis_of
from autotune.stats import Interval
from autotune.stats.intervals import around, t_quantile
from autotune.strategies import distribution
from autotune.value import Scalar, Value

FEWEST = 8
"""With fewer configurations there is nothing to tell apart."""
FREEDOM = 3.0
"""Fewest degrees of freedom that the effects must leave."""
BELIEVED = 0.3
"""Least share of the differences that has to be predicted."""
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Of an effect, beside the configurations that show it."""
HOW = "distribution"
"""The axes that together say how a training is distributed, as one."""

Rates = Mapping[Configuration, float]
Levels = Mapping[str, Sequence[Scalar | None]]
"""For each axis the value of each configuration; None where it has no effect."""


class Effect(Value):
    """What the values of an axis do to the throughput, all else equal."""

    axis: str
    worst: Scalar
    best: Scalar
    factor: Interval
    """Throughput with the best value as a multiple of that with the worst."""
    values: tuple[tuple[Scalar, float], ...]
    """Every value that was tried, as a multiple of the worst."""


class Effects(Value):
    """What the configurations tell of the axes."""

    configurations: int
    predicted: float | None = None
    """Share of the differences between configurations that the others predict; None if there
    were too few to try."""
    effects: tuple[Effect, ...] = ()
    """The greatest first; empty if they cannot be told apart."""


class _Fit(NamedTuple):
    weights: np.ndarray
    covariance: np.ndarray
    left_out: np.ndarray
    """The error of predicting each configuration from the others."""
    freedom: float


def effects(rates: Rates) -> Effects:
    """Return what the throughput of some configurations tells of the axes."""
    levels = _levels(list(rates))
    columns = [(axis, value) for axis, seen in levels.items() for value in _values(seen)]
    if len(rates) < FEWEST or not columns:
        return Effects(configurations=len(rates))
    target = np.log(list(rates.values()))
    target -= target.mean()
    fit = _best_fit(_matrix(levels, columns), target)
    # As unfair to the mean as leaving one out is to the model.
    around_mean = target * len(target) / (len(target) - 1)
    spread = float(np.sum(around_mean**2))
    predicted = 1 - float(np.sum(fit.left_out**2)) / spread if spread > 0 else 0.0
    believed = predicted >= BELIEVED and fit.freedom >= FREEDOM
    found = [_effect(axis, columns, fit) for axis in levels] if believed else []
    return Effects(
        configurations=len(rates),
        predicted=max(predicted, 0.0),
        effects=tuple(sorted(found, key=lambda each: -each.factor.value)),
    )


def _levels(configurations: Sequence[Configuration]) -> Levels:
    every = [(configuration, configuration.values()) for configuration in configurations]
    found: dict[str, Sequence[Scalar | None]] = {HOW: [distribution(c) for c in configurations]}
    for name in dict.fromkeys(name for _, values in every for name in values):
        axis = axis_of(name)
        if axis.role is not AxisRole.PLACEMENT or axis.short:
            found[name] = [v.get(name) if axis.matters_in(c) else None for c, v in every]
    return {name: seen for name, seen in found.items() if len(_values(seen)) > 1}


def _values(seen: Sequence[Scalar | None]) -> list[Scalar]:
    values = list(dict.fromkeys(each for each in seen if each is not None))
    return sorted(values, key=lambda each: (isinstance(each, str), each))


def _matrix(levels: Levels, columns: Sequence[tuple[str, Scalar]]) -> np.ndarray:
    shown = np.array([[seen == value for seen in levels[axis]] for axis, value in columns], float)
    centred: np.ndarray = (shown - shown.mean(axis=1, keepdims=True)).T
    return centred


def _best_fit(matrix: np.ndarray, target: np.ndarray) -> _Fit:
    fits = [_fit(matrix, target, penalty) for penalty in PENALTIES]
    return min(fits, key=lambda each: float(np.sum(each.left_out**2)))


def _fit(matrix: np.ndarray, target: np.ndarray, penalty: float) -> _Fit:
    count = len(target)
    inverse = np.linalg.inv(matrix.T @ matrix + penalty * np.eye(matrix.shape[1]))
    hat = matrix @ inverse @ matrix.T + 1 / count
    weights = inverse @ matrix.T @ target
    errors = target - matrix @ weights
    freedom = count - float(np.trace(hat))
    variance = float(np.sum(errors**2)) / max(freedom, 1e-9)
    return _Fit(weights, variance * inverse, errors / (1 - np.diag(hat)), freedom)


def _effect(axis: str, columns: Sequence[tuple[str, Scalar]], fit: _Fit) -> Effect:
    mine = [i for i, (name, _) in enumerate(columns) if name == axis]
    worst, best = (choose(mine, key=lambda i: fit.weights[i]) for choose in (min, max))
    contrast = np.zeros(len(columns))
    contrast[best] += 1
    contrast[worst] -= 1
    error = float(np.sqrt(contrast @ fit.covariance @ contrast))
    half = t_quantile(fit.freedom, 0.975) * error
    return Effect(
        axis=axis,
        worst=columns[worst][1],
        best=columns[best][1],
        factor=around(float(contrast @ fit.weights), half),
        values=tuple(
            (columns[i][1], float(np.exp(fit.weights[i] - fit.weights[worst]))) for i in mine
        ),
    )
