"""How many examples a batch needs for the same progress, and the learning rate that goes with it.

For plain steps the learning rate is multiplied by the gain of AdaScale (Johnson et al., 2020),
k (phi + B0) / (phi + B) with k = B / B0 and the noise scale phi = tr S / |G|^2; then a batch needs
(phi + B) / (phi + B0) times the examples (McCandlish et al., 2018; Pollux, 2021). For normalized
steps it is multiplied by the root of k (Malladi et al., 2022), and a small step makes progress in
proportion to A(B) = sum_i G_i^2 / sqrt(G_i^2 + S_ii / B), so that a batch needs
sqrt(k) A(B0) / A(B) times the examples.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from autotune.base import Value
from autotune.stats.gradients import BATCHES, GradientProbe, Learning, Moments, UpdateRule
from autotune.stats.intervals import SDS, Interval, around

WARM_UP_SHARE = 5 / 90
"""Of a training, at most: five of 90 epochs, as in Goyal et al. (2017). A short one would else be
over before its rate is the multiplied one."""


class Efficiency(Value):
    """What a batch costs in examples: those to the same loss, per example of the user's own."""

    log: float
    """Natural logarithm of the estimate."""
    sd: float
    """Standard error of that."""

    @property
    def examples(self) -> Interval:
        return around(self.log, SDS * self.sd)


@lru_cache(maxsize=256)
def predicted_examples(learning: Learning, batch: int) -> Efficiency | None:
    """Return what gradients let expect that a global batch costs; None if they tell nothing.

    Of several probes the one counts by which a change costs more: what a training gains by a
    larger batch late is not there in its beginning, and the other way round.
    """
    if batch == learning.batch:
        return Efficiency(log=0.0, sd=0.0)
    known = [each for probe in learning.probes if (each := _of_probe(probe, learning, batch))]
    if not known:
        return None
    worst = max(known, key=lambda each: each.log)
    # In nineteen of twenty workloads the formulas were right within a factor of 1.5, for batches
    # that are four times as large as the user's own or more; for the same batch it is 1.
    far = min(abs(math.log(batch / learning.batch)) / math.log(4.0), 1.0)
    return Efficiency(log=worst.log, sd=math.hypot(worst.sd, far * math.log(1.5) / SDS))


def learning_rate_factor(learning: Learning, batch: int) -> float:
    """Return by what the learning rate is multiplied at a batch; 1 where nothing is known of it."""
    needed, k = predicted_examples(learning, batch), batch / learning.batch
    if needed is None:
        return 1.0
    # The gain of plain steps is that by which they need more examples less than k times as many.
    return math.sqrt(k) if learning.rule is UpdateRule.NORMALIZED else k / needed.examples.value


def epochs_factor(learning: Learning, batch: int) -> float:
    """Return how many times as many epochs a batch is trained for; never fewer than the user's."""
    needed = predicted_examples(learning, batch)
    return 1.0 if needed is None else max(needed.examples.value, 1.0)


def warm_up_examples(learning: Learning) -> int:
    """Return the examples in which the learning rate rises to the multiplied one.

    They are those of the 2 / (1 - beta_2) steps of Ma and Yarats (2021) at Adam's default.
    """
    return 2000 * learning.batch


def _by_noise_scale(moments: Moments, batch: int, own: int) -> float | None:
    if moments.trace <= 0:
        return None
    # Where the mean is lost in the noise, any batch is as good as any other.
    per_scale = max(moments.square / moments.trace, 0.0)
    return math.log1p(batch * per_scale) - math.log1p(own * per_scale)


def _by_progress(moments: Moments, batch: int, own: int) -> float | None:
    mine, theirs = _progress(moments, batch), _progress(moments, own)
    if mine <= 0 or theirs <= 0:
        return None
    return math.log(batch / own) / 2 + math.log(theirs) - math.log(mine)


def _progress(moments: Moments, batch: int) -> float:
    """Return the progress of a step at a batch, between the batches at which it is known."""
    return float(np.interp(math.log2(batch), np.log2(BATCHES), moments.progress))


def _of_probe(probe: GradientProbe, learning: Learning, batch: int) -> Efficiency | None:
    """Return the estimate and its jackknife error; None where the gradients are all noise."""
    formula = _by_noise_scale if learning.rule is UpdateRule.PLAIN else _by_progress
    every = (probe.whole, *probe.without)
    value, *parts = (formula(each, batch, learning.batch) for each in every)
    known = [each for each in parts if each is not None]
    if value is None or len(known) < len(parts):
        return None
    return Efficiency(log=value, sd=math.sqrt((len(known) - 1) * float(np.var(known))))
