"""How many examples a batch needs for the same progress, and the learning rate that goes with it.

For plain steps the learning rate is multiplied by the gain of AdaScale (Johnson et al., 2020),
k (phi + B0) / (phi + B) with k = B / B0 and the noise scale phi = tr S / |G|^2; then a batch needs
(phi + B) / (phi + B0) times the examples (McCandlish et al., 2018; Pollux, 2021). For normalized
steps it is multiplied by the root of k (Malladi et al., 2022), and a small step makes progress in
proportion to A(B) = sum_i G_i^2 / sqrt(G_i^2 + S_ii / B), so that a batch needs
sqrt(k) A(B0) / A(B) times the examples. Efficiency is the reciprocal of the examples needed.
"""

import math
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from pydantic import ConfigDict

from autotune.base import Value
from autotune.stats.intervals import SDS, Interval, around

BATCHES = tuple(2**power for power in range(21))
"""Batch sizes for which the progress of a step is computed; between them it is interpolated."""
WARM_UP_STEPS = 2000
"""Steps at the own batch in whose examples the learning rate rises to the multiplied one: the
2 / (1 - beta_2) steps of Ma and Yarats (2021) at Adam's default."""
WARM_UP_SHARE = 5 / 90
"""Of a training, at most: five of 90 epochs, as in Goyal et al. (2017). A short one would else be
over before its rate is the multiplied one."""


class UpdateRule(StrEnum):
    """How an optimizer turns a gradient into a step."""

    PLAIN = "plain"
    """The step follows the gradient: SGD, with or without momentum."""
    NORMALIZED = "normalized"
    """Each element is divided by the root of its mean square: Adam and its relatives."""


RULES = {
    "SGD": UpdateRule.PLAIN,
    **dict.fromkeys(("Adam", "AdamW", "Nadam", "RMSprop"), UpdateRule.NORMALIZED),
}
"""By the class of the optimizer."""


class Unpredictable(StrEnum):
    """Why nothing is said of how a model learns at other batch sizes."""

    OWN_STEP = "own step"
    """The model has a `train_step` of its own."""
    CLIPPED = "clipped"
    """More than half of the gradients are clipped, so a step does not grow with the rate."""
    ACCUMULATED = "accumulated"
    """The optimizer adds up the gradients of several steps."""
    SCHEDULED = "scheduled"
    """A callback or a function changes the learning rate from step to step, and counts steps."""
    OPTIMIZER = "optimizer"
    """No formula is known for this optimizer."""
    FAILED = "failed"
    """The inspection of gradients ended with an error."""
    TOO_FEW = "too few"
    """There was time or data for too few gradients."""
    NO_TIME = "no time"
    """The training, or the budget, is too short for an inspection of gradients."""
    NOT_OFFERED = "not offered"
    """The engine offers no inspection of gradients."""


class Moments(Value):
    """Estimates of one example's gradient at one point of a training."""

    trace: float
    """Sum of the variances of its elements."""
    square: float
    """Sum of the squares of their means, without bias, so it may come out negative."""
    progress: tuple[float, ...]
    """Of a small normalized step at each of `BATCHES`: the sum over all elements of G_i^2 divided
    by sqrt(G_i^2 + S_ii / batch)."""


class GradientProbe(Value):
    """What micro-batches have shown after so many steps of a training."""

    # An earlier version kept more.
    model_config = ConfigDict(extra="ignore")

    step: int
    whole: Moments
    """Of all of them."""
    without: tuple[Moments, ...]
    """With one group left out, for each of the groups."""


class Scaling(NamedTuple):
    """What a program changes so that a batch learns as was predicted."""

    own_batch: int = 0
    rate: float = 1.0
    """Factor on the learning rate, with three digits."""
    epochs: float = 1.0
    """Factor on the epochs, with three digits; never below 1. It is that by which an objective
    counts the batch, so that the time that is promised is the time that the program takes."""

    @property
    def warm_up(self) -> tuple[int, float]:
        """In how many examples the rate rises, and in which share of the training at most."""
        return WARM_UP_STEPS * self.own_batch, WARM_UP_SHARE


class Learning(Value):
    """What is known of how a model learns at other batch sizes."""

    # An earlier version kept more.
    model_config = ConfigDict(extra="ignore")

    batch: int
    """Examples of the user's own global batch, at which the model was trained."""
    refused: Unpredictable | None = None
    """Why nothing is known; None where something is."""
    rule: UpdateRule = UpdateRule.PLAIN
    probes: tuple[GradientProbe, ...] = ()
    """At points of the training, the earliest first; none where nothing is known."""

    def efficiency(self, batch: int) -> Interval | None:
        """Return the progress per example at a global batch, as a multiple of that at the own one.

        None where the gradients tell nothing. Of several probes the least favourable counts: what a
        training gains by a larger batch late is not there in its beginning, and the other way
        round.
        """
        return _efficiency(self, batch)

    def scaling(self, batch: int) -> Scaling:
        """Return what a program changes at a batch; nothing where nothing is known of it."""
        found = self.efficiency(batch)
        if found is None:
            return Scaling(self.batch)
        k = batch / self.batch
        # The gain of plain steps is that by which they need more examples less than k times as
        # many.
        rate = math.sqrt(k) if self.rule is UpdateRule.NORMALIZED else k * found.value
        return Scaling(self.batch, _rounded(rate), _rounded(max(1 / found.low, 1.0)))


def usual_rate_factor(optimizer: str, k: float) -> float:
    """Return by what the learning rate is usually multiplied at k times the batch."""
    return k if RULES.get(optimizer) is UpdateRule.PLAIN else math.sqrt(k)


def _rounded(factor: float) -> float:
    return float(f"{factor:.3g}")


@lru_cache(maxsize=256)
def _efficiency(learning: Learning, batch: int) -> Interval | None:
    if batch == learning.batch:
        return around(0.0, 0.0)
    known = [each for probe in learning.probes if (each := _of_probe(probe, learning, batch))]
    if not known:
        return None
    log, sd = max(known)
    # In nineteen of twenty workloads the formulas were right within a factor of 1.5, for batches
    # that are four times as large as the user's own or more; for the same batch it is 1.
    far = min(abs(math.log(batch / learning.batch)) / math.log(4.0), 1.0)
    return around(-log, math.hypot(SDS * sd, far * math.log(1.5)))


def _of_probe(probe: GradientProbe, learning: Learning, batch: int) -> tuple[float, float] | None:
    """Return log(examples needed) and its jackknife error; None where gradients are all noise."""
    formula = _by_noise_scale if learning.rule is UpdateRule.PLAIN else _by_progress
    every = (probe.whole, *probe.without)
    value, *parts = (formula(each, batch, learning.batch) for each in every)
    known = [each for each in parts if each is not None]
    if value is None or len(known) < len(parts):
        return None
    return value, math.sqrt((len(known) - 1) * float(np.var(known)))


def _by_noise_scale(moments: Moments, batch: int, own: int) -> float | None:
    if moments.trace <= 0:
        return None
    # Where the mean is lost in the noise, any batch is as good as any other.
    per_scale = max(moments.square / moments.trace, 0.0)
    return math.log1p(batch * per_scale) - math.log1p(own * per_scale)


def _by_progress(moments: Moments, batch: int, own: int) -> float | None:
    # Between the batches for which it is known, the progress of a step is interpolated.
    mine, theirs = np.interp(np.log2([batch, own]), np.log2(BATCHES), moments.progress)
    if mine <= 0 or theirs <= 0:
        return None
    return math.log(batch / own) / 2 + math.log(theirs) - math.log(mine)
