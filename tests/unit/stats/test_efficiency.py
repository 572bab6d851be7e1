"""What a batch costs in examples, against the formulas' own limits and a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autotune.stats.efficiency import (
    epochs_factor,
    learning_rate_factor,
    predicted_examples,
    warm_up_examples,
)
from autotune.stats.gradients import (
    BATCHES,
    GradientProbe,
    GradientSums,
    Learning,
    Moments,
    UpdateRule,
)
from autotune.stats.intervals import Interval

OWN = 32


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    predicted_examples.cache_clear()


def probe(trace: float = 1.0, square: float = 1.0, step: int = 100) -> GradientProbe:
    clean = max(square, 0.0)
    progress = tuple(clean / math.sqrt(clean + trace / b) for b in BATCHES)
    moments = Moments(trace=trace, square=square, progress=progress)
    return GradientProbe(step=step, micro_batches=64, whole=moments, without=(moments,) * 8)


def learning(*probes: GradientProbe, rule: UpdateRule = UpdateRule.PLAIN) -> Learning:
    return Learning(batch=OWN, rule=rule, probes=probes)


@pytest.mark.parametrize("rule", UpdateRule)
def test_the_users_own_batch_costs_nothing(rule: UpdateRule) -> None:
    """It needs the examples that it needs, surely, at the user's own learning rate."""
    known = learning(probe(), rule=rule)
    assert predicted_examples(known, OWN).examples == Interval(low=1, value=1, high=1)
    assert learning_rate_factor(known, OWN) == 1.0


@pytest.mark.parametrize(
    ("scale", "examples"), [(1e9, 1.0), (1e-9, 16.0), (512 - 64, (448 + 512) / (448 + 32))]
)
def test_plain_steps_follow_the_noise_scale(scale: float, examples: float) -> None:
    """In noise a batch of 512 costs nothing, without it sixteen times the examples of 32."""
    known = learning(probe(trace=scale, square=1.0))
    assert predicted_examples(known, 512).examples.value == pytest.approx(examples, rel=1e-3)
    assert learning_rate_factor(known, 512) == pytest.approx(16 / examples, rel=1e-3)


@pytest.mark.parametrize(("scale", "examples"), [(1e9, 1.0), (1e-9, 4.0)])
def test_normalized_steps_follow_the_progress(scale: float, examples: float) -> None:
    """With the root rule a batch costs nothing in noise, and the root of its size without."""
    known = learning(probe(trace=scale), rule=UpdateRule.NORMALIZED)
    assert predicted_examples(known, 512).examples.value == pytest.approx(examples, rel=1e-3)
    assert learning_rate_factor(known, 512) == 4.0


def test_a_mean_that_is_lost_in_noise_makes_all_batches_equal() -> None:
    assert predicted_examples(learning(probe(square=-1.0)), 512).log == 0.0


@pytest.mark.parametrize(("batch", "scale"), [(512, 10.0), (8, 1000.0)])
def test_the_probe_counts_by_which_a_change_costs_more(batch: int, scale: float) -> None:
    """Less noise speaks against a larger batch, more noise against a smaller one."""
    early, late = probe(trace=10.0), probe(trace=1000.0, step=500)
    alone = learning(probe(trace=scale))
    assert (
        predicted_examples(learning(early, late), batch).log == predicted_examples(alone, batch).log
    )


def test_progress_that_is_lost_in_noise_tells_nothing() -> None:
    """A negative estimate of the progress says nothing; another probe may."""
    lost = probe().whole.model_copy(update={"progress": (-1.0,) * len(BATCHES)})
    unknown = probe().model_copy(update={"whole": lost})
    assert predicted_examples(learning(unknown, rule=UpdateRule.NORMALIZED), 512) is None
    both = learning(unknown, probe(), rule=UpdateRule.NORMALIZED)
    alone = learning(probe(), rule=UpdateRule.NORMALIZED)
    assert predicted_examples(both, 512) == predicted_examples(alone, 512)


@pytest.mark.parametrize("own", [0.0, -1.0])
def test_no_progress_at_the_own_batch_tells_nothing_either(own: float) -> None:
    moments = probe().whole
    lost = (own,) * (BATCHES.index(OWN) + 1)
    known = moments.model_copy(update={"progress": (*lost, *moments.progress[len(lost) :])})
    unknown = probe().model_copy(update={"whole": known})
    assert predicted_examples(learning(unknown, rule=UpdateRule.NORMALIZED), 512) is None


def test_where_nothing_is_known_rate_and_epochs_stay() -> None:
    assert learning_rate_factor(learning(), 512) == 1.0
    assert epochs_factor(learning(), 512) == 1.0


def test_a_batch_is_trained_for_the_epochs_that_it_needs_and_no_fewer_than_the_own() -> None:
    known = learning(probe(trace=448.0))
    assert epochs_factor(known, 512) == pytest.approx(960 / 480)
    assert epochs_factor(known, 40) == pytest.approx(488 / 480)
    assert epochs_factor(known, 8) == 1.0
    assert warm_up_examples(known) == 2000 * OWN


def test_intervals_of_drawn_gradients_hold_the_formula_of_the_truth() -> None:
    """Jackknife intervals of probes alone hold the truth in about nineteen of twenty cases."""
    mean, sd, draw = np.full(200, 0.05), np.full(200, 1.0), np.random.default_rng(0)
    scale = (sd**2).sum() / (mean**2).sum()
    truth = math.log((scale + 512) / (scale + OWN))
    held = 0
    for _ in range(200):
        sums = GradientSums(200, OWN)
        for _ in range(64):
            sums.add(draw.normal(mean, sd / math.sqrt(OWN)))
        needed = predicted_examples(learning(sums.probe(step=1)), 512)
        # Without the error of the formula, which is none here.
        sd_probe = math.sqrt(needed.sd**2 - (math.log(1.5) / 1.96) ** 2)
        held += abs(needed.log - truth) < 2.36 * sd_probe  # Student's t with 7 degrees
    assert held >= 180
