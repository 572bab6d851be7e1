"""The throughput of every configuration, from the runs of all of them.

Most configurations of a table were run once. Taken as they are, these figures make a truth that no
tuner could know: the best of many single runs is the luckiest. Configurations that differ little
perform alike, and how alike is seen from the runs themselves: kriging (Matheron, 1963), with
lengths by marginal likelihood (Rasmussen and Williams, 2006, chapter 5). A configuration that was
run often keeps its own mean, and so does one that nothing resembles.

The covariance of log(rate) is a product over the axes, so that any axes may depend on each other;
it is not the model that the search itself uses, to which it would otherwise be kind.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from autotune.base import Scalar

FAR = (1e-4, 5.0)
"""Bounds of how far the values of an axis lie apart: nothing, or everything."""
SPREAD = (0.02, 2.0)
"""Bounds of the standard deviation of log(rate) over the space."""
OWN = (0.001, 0.3)
"""Bounds of the standard deviation of what only one configuration has."""
START = (0.1, 0.5, 0.02)

Matrix = NDArray[np.float64]


def kriged(
    settings: Sequence[Mapping[str, Scalar]],
    means: Sequence[float],
    counts: Sequence[int],
    noise: float,
) -> Matrix:
    """Return the expected log(rate) of each configuration, given the runs of all.

    Args:
        settings: The value of every axis, for each configuration.
        means: log(rate), the mean of its runs.
        counts: How many runs it had.
        noise: Standard deviation of log(rate) between runs of one configuration.
    """
    differs = _differences(settings)
    y, errors = np.array(means), noise**2 / np.array(counts)
    far, spread, own = START
    bounds = np.log([*[FAR] * len(differs), SPREAD, OWN]).tolist()
    first = np.log([*[far] * len(differs), spread, own])
    best = minimize(_misfit, first, (differs, y, errors), bounds=bounds, method="L-BFGS-B").x
    covariance = _covariance(best, differs)
    factor = cho_factor(covariance + np.diag(errors), lower=True)
    level = _level(factor, y)
    expected: Matrix = level + covariance @ cho_solve(factor, y - level)
    return expected


def _differences(settings: Sequence[Mapping[str, Scalar]]) -> Matrix:
    """Return for each axis that varies whether two configurations differ on it."""
    names = dict.fromkeys(name for each in settings for name in each)
    columns = [[repr(each.get(name)) for each in settings] for name in names]
    varying = [np.array(column) for column in columns if len(set(column)) > 1]
    pairs = [(column[:, None] != column[None, :]).astype(float) for column in varying]
    return np.array(pairs).reshape(len(pairs), len(settings), len(settings))


def _covariance(logs: Matrix, differs: Matrix) -> Matrix:
    *far, spread, own = np.exp(logs)
    apart = np.tensordot(np.array(far), differs, axes=1)
    covariance: Matrix = spread**2 * np.exp(-apart) + own**2 * np.eye(apart.shape[-1])
    return covariance


def _misfit(logs: Matrix, differs: Matrix, y: Matrix, errors: Matrix) -> float:
    """Return minus the logarithm of the marginal likelihood."""
    try:
        factor = cho_factor(_covariance(logs, differs) + np.diag(errors), lower=True)
    except LinAlgError:
        return 1e9
    rest = y - _level(factor, y)
    fit = 0.5 * rest @ cho_solve(factor, rest)
    return float(fit + np.log(np.diag(factor[0])).sum())


def _level(factor: tuple[Matrix, bool], y: Matrix) -> float:
    """Return the mean of the whole space, by generalized least squares."""
    weights = cho_solve(factor, np.ones(len(y)))
    return float(weights @ y / weights.sum())
