"""What a run is worth: to find something better, and to answer the question.

A run of one configuration is worth by how much it is expected to raise the best that is known (the
knowledge gradient of Frazier, Powell and Dayanik 2009), for each second that it takes. Its seconds
are missing where the question is answered: what that costs is the fall of the probability of an
answer (assurance, O'Hagan, Stevens and Campbell 2005), if all time that is left goes to the two
configurations in question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from autotune.search.kernel import Matrix
from autotune.search.posterior import Joint
from autotune.search.question import SMALL_COST, SURE_GAIN, SURE_NONE

NODES, _CHANCES = np.polynomial.hermite_e.hermegauss(9)
CHANCES = _CHANCES / _CHANCES.sum()
"""Gauss-Hermite quadrature over what a run may show."""


def improvement(joint: Joint, ran: Sequence[int], k: int) -> float:
    """Return by how much a run of `k` is expected to raise the best of what ran, in log(score).

    The best may be `k` itself, or what its run says something of.
    """
    rows = [*dict.fromkeys([*ran, k])]
    spread = math.sqrt(joint.covariance[k, k] + joint.noise[k])
    step = joint.covariance[rows, k] / spread
    after = (joint.mean[rows][:, None] + step[:, None] * NODES).max(0) @ CHANCES
    return max(float(after - joint.mean[list(ran)].max()), 0.0)


def assurance(joint: Joint, one: int, many: int, margin: float, rounds: float) -> float:
    """Return the probability that so many more rounds of two configurations give an answer.

    They are the best ones on one device and on several; the margin is in log(score).
    """
    if rounds <= 0:
        return 0.0
    mean, error = joint.gap(many, one)
    noise = joint.noises[:, many] + joint.noises[:, one]
    # After ten thousand rounds nothing is left to be found out.
    after = 1 / (1 / error**2 + min(rounds, 10_000.0) / noise)
    move, sd = np.sqrt(np.maximum(error**2 - after, 1e-12)), np.sqrt(after)
    more = (mean - np.maximum(ndtri(SURE_GAIN) * sd, margin)) / move
    least = np.maximum(margin - ndtri(SURE_NONE) * sd, _cheap(sd))
    less = (least - mean) / move
    return float(np.mean(np.minimum(ndtr(more) + ndtr(less), 1.0)))


def variance_reduction(joint: Joint, many: int, one: int, k: int) -> float:
    """Return by how much a run of `k` lowers the variance of log(many / one)."""
    c = joint.covariance
    return float((c[many, k] - c[one, k]) ** 2 / (c[k, k] + joint.noise[k]))


def _cheap(sd: Matrix) -> Matrix:
    """Return the mean of a normal x of some deviation at which max(x, 0) is expected small."""
    low, high = np.full_like(sd, -10.0), np.full_like(sd, SMALL_COST)
    for _ in range(30):
        middle = (low + high) / 2
        z = middle / sd
        cost = middle * ndtr(z) + sd * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        over = cost > SMALL_COST
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    found: Matrix = low
    return found
