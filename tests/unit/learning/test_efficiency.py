"""What a batch costs in examples, against the formulas' own limits and a known truth."""

import math

import numpy as np
import pytest

from autotune.learning import efficiency
from autotune.learning.efficiency import (
    BATCHES,
    GradientProbe,
    Learning,
    Moments,
    Scaling,
    UpdateRule,
)
from autotune.learning.gradients import GradientSums
from autotune.stats.intervals import SDS, Interval

OWN = 32


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    efficiency._efficiency.cache_clear()


def probe(trace: float = 1.0, square: float = 1.0, step: int = 100) -> GradientProbe:
    clean = max(square, 0.0)
    progress = tuple(clean / math.sqrt(clean + trace / b) for b in BATCHES)
    moments = Moments(trace=trace, square=square, progress=progress)
    return GradientProbe(step=step, whole=moments, without=(moments,) * 8)


def learning(*probes: GradientProbe, rule: UpdateRule = UpdateRule.PLAIN) -> Learning:
    return Learning(batch=OWN, rule=rule, probes=probes)


@pytest.mark.parametrize("rule", UpdateRule)
def test_the_users_own_batch_costs_nothing(rule: UpdateRule) -> None:
    """It needs the examples that it needs, surely, at the user's own learning rate."""
    known = learning(probe(), rule=rule)
    assert known.efficiency(OWN) == Interval(low=1, value=1, high=1)
    assert known.scaling(OWN) == Scaling(OWN)


@pytest.mark.parametrize(
    ("scale", "examples"), [(1e9, 1.0), (1e-9, 16.0), (512 - 64, (448 + 512) / (448 + 32))]
)
def test_plain_steps_follow_the_noise_scale(scale: float, examples: float) -> None:
    """In noise a batch of 512 costs nothing, without it sixteen times the examples of 32."""
    known = learning(probe(trace=scale, square=1.0))
    assert known.efficiency(512).value == pytest.approx(1 / examples, rel=1e-3)
    assert known.scaling(512).rate == pytest.approx(16 / examples, rel=1e-2)


@pytest.mark.parametrize(("scale", "examples"), [(1e9, 1.0), (1e-9, 4.0)])
def test_normalized_steps_follow_the_progress(scale: float, examples: float) -> None:
    """With the root rule a batch costs nothing in noise, and the root of its size without."""
    known = learning(probe(trace=scale), rule=UpdateRule.NORMALIZED)
    assert known.efficiency(512).value == pytest.approx(1 / examples, rel=1e-3)
    assert known.scaling(512).rate == 4.0


def test_a_mean_that_is_lost_in_noise_makes_all_batches_equal() -> None:
    assert learning(probe(square=-1.0)).efficiency(512).value == 1.0


@pytest.mark.parametrize(("batch", "scale"), [(512, 10.0), (8, 1000.0)])
def test_the_probe_counts_by_which_a_change_costs_more(batch: int, scale: float) -> None:
    """Less noise speaks against a larger batch, more noise against a smaller one."""
    early, late = probe(trace=10.0), probe(trace=1000.0, step=500)
    alone = learning(probe(trace=scale))
    assert learning(early, late).efficiency(batch).value == alone.efficiency(batch).value


def test_progress_that_is_lost_in_noise_tells_nothing() -> None:
    """A negative estimate of the progress says nothing; another probe may."""
    lost = probe().whole.model_copy(update={"progress": (-1.0,) * len(BATCHES)})
    unknown = probe().model_copy(update={"whole": lost})
    nothing = learning(unknown, rule=UpdateRule.NORMALIZED)
    assert (nothing.efficiency(512), nothing.scaling(512)) == (None, Scaling(OWN))
    both = learning(unknown, probe(), rule=UpdateRule.NORMALIZED)
    alone = learning(probe(), rule=UpdateRule.NORMALIZED)
    assert both.efficiency(512) == alone.efficiency(512)


@pytest.mark.parametrize("own", [0.0, -1.0])
def test_no_progress_at_the_own_batch_tells_nothing_either(own: float) -> None:
    moments = probe().whole
    lost = (own,) * (BATCHES.index(OWN) + 1)
    known = moments.model_copy(update={"progress": (*lost, *moments.progress[len(lost) :])})
    unknown = probe().model_copy(update={"whole": known})
    assert learning(unknown, rule=UpdateRule.NORMALIZED).efficiency(512) is None


def test_where_nothing_is_known_rate_and_epochs_stay() -> None:
    assert learning().scaling(512) == Scaling(OWN)


@pytest.mark.parametrize("batch", [512, 40, 8])
def test_a_batch_is_trained_for_the_epochs_by_which_it_is_scored(batch: int) -> None:
    """Never for fewer than the own ones; each factor has three digits."""
    known = learning(probe(trace=448.0))
    assert known.scaling(batch).epochs == float(f"{max(1 / known.efficiency(batch).low, 1):.3g}")
    assert known.scaling(batch).epochs >= 1.0
    assert known.scaling(batch).warm_up == (2000 * OWN, 5 / 90)


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
        needed = learning(sums.probe(step=1)).efficiency(512).under(1)
        # Without the error of the formula, which is none here.
        both = math.log(needed.high / needed.value)
        sd_probe = math.sqrt(both**2 - math.log(1.5) ** 2) / SDS
        # Student's t with 7 degrees.
        held += abs(math.log(needed.value) - truth) < 2.36 * sd_probe
    assert held >= 180


def test_what_an_earlier_version_kept_is_read() -> None:
    stored = learning(probe()).model_dump(mode="json")
    stored |= {"scheduled": True, "seconds": 9.0}
    stored["probes"][0]["micro_batches"] = 64
    assert Learning.model_validate(stored) == learning(probe())
