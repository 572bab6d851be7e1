"""What all runs together say, by one posterior."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.search.belief import Learner
from autotune.search.history import History
from autotune.search.kernel import Kernel
from autotune.search.posterior import Posterior, Run

from .conftest import ended

BATCHES, STEPS = (32, 64, 128, 256), (1, 8)
ALONE = [
    Configuration(per_replica_batch=b, steps_per_execution=s) for b, s in product(BATCHES, STEPS)
]
TWO = [each.taking({"strategy": "mirrored", "replicas_per_worker": 2}) for each in ALONE]
POOL = [*ALONE, *TWO]


@pytest.fixture(autouse=True)
def rough_posterior() -> None:
    """Here it is drawn as in a search."""


def learned(runs: list[Run]) -> Posterior:
    posterior = Posterior(Kernel(POOL), [each.distributed for each in POOL])
    posterior.learn(runs)
    return posterior


def noise(posterior: Posterior) -> float:
    """The noise of a run on one device that is believed."""
    joint = posterior.joint([0])
    return math.sqrt(joint.noise[0])


def gap(posterior: Posterior, one: int, other: int) -> tuple[float, float]:
    mean, sd = posterior.joint([one, other]).gap(0, 1)
    return float(mean.mean()), float(np.sqrt(np.mean(sd**2)))


@pytest.mark.parametrize(("sd", "low", "high"), [(0.02, 0.01, 0.035), (0.12, 0.06, 0.2)])
def test_the_noise_is_learned_from_all_runs(sd: float, low: float, high: float) -> None:
    """Repeats tell it, and runs of different configurations that a model explains."""
    draw = random.Random(1)
    rows = [row for row in range(len(POOL)) for _ in range(2)]
    runs = [
        Run(row, 0.3 * math.log(POOL[row].global_batch) + draw.gauss(0, sd), number / 10)
        for number, row in enumerate(rows)
    ]
    assert low < noise(learned(runs)) < high


@pytest.mark.parametrize("seed", [1, 2])
def test_what_configurations_differ_by_is_no_noise_on_a_quiet_machine(seed: int) -> None:
    """Where eight repeats scatter by 0.3 %, though what no kernel explains scatters by 6 %."""
    draw = random.Random(seed)
    own = [draw.gauss(0, 0.06) for _ in POOL]
    runs = [
        Run(row, 0.3 * math.log(POOL[row].global_batch) + own[row] + draw.gauss(0, 0.003), at / 10)
        for at, row in enumerate((*range(len(POOL)), *range(len(ALONE))))
    ]
    posterior = Posterior(Kernel(POOL), [each.distributed for each in POOL])
    for count in range(1, len(runs) + 1):
        posterior.learn(runs[:count])
    assert noise(posterior) < 0.012


def test_one_disturbed_run_decides_nothing() -> None:
    """A run at half the rate hardly moves the mean of three others, and has little weight."""
    quiet = [Run(0, math.log(rate), t / 10) for t, rate in enumerate((100, 102, 99, 101))]
    clean = [*quiet, *(Run(8, math.log(rate), 1.0) for rate in (120, 119, 121))]
    disturbed = learned([*clean, Run(8, math.log(60), 1.1)])
    mean, _ = gap(disturbed, 8, 0)
    assert mean == pytest.approx(math.log(1.2), abs=0.05)
    assert disturbed.weights[-1] < 0.3


def test_a_drift_of_the_machine_is_not_taken_for_a_gain() -> None:
    """Who ran only after the machine became slower is compared with who ran then too."""
    early = [Run(0, 0.0, t) for t in (0.0, 0.5, 1.0)]
    late = [Run(row, -0.15, 20 + t) for row, t in ((0, 0.0), (8, 0.3), (0, 0.6), (8, 0.9))]
    mean, _ = gap(learned([*early, *late]), 8, 0)
    assert abs(mean) < 0.05


def test_what_one_device_shows_is_expected_of_several() -> None:
    """A batch that is fast on one device is expected to be fast on two."""
    runs = [Run(POOL.index(c), 0.4 * math.log(c.per_replica_batch), n) for n, c in enumerate(ALONE)]
    runs += [Run(POOL.index(TWO[0]), 0.4 * math.log(32), 9.0)]
    mean, sd = learned(runs).marginals()
    assert mean[POOL.index(TWO[-1])] - mean[POOL.index(TWO[0])] > 0.4
    assert sd[POOL.index(TWO[-1])] > sd[POOL.index(ALONE[-1])]


def test_the_best_of_many_untried_is_not_too_good() -> None:
    """They deviate in common from what is expected: drawn one by one, the best would be better."""
    joint = learned([Run(0, 0.0, 0.0), Run(8, 0.0, 0.1)]).joint(range(len(POOL)))
    drawn = joint.draw(4000, 0, [0, 8])
    sds = np.sqrt(np.diag(joint.covariance))
    apart = np.random.default_rng(0).normal(joint.mean, sds, (4000, len(POOL)))
    assert np.mean(drawn.max(1)) < np.mean(apart.max(1))


def test_an_axis_that_did_not_vary_may_matter_though_others_do_not() -> None:
    """Each has a size of its own, so that a value that no run has had stays open."""
    pool = [*ALONE, *(each.taking({"cache": "memory"}) for each in ALONE)]
    draw = random.Random(3)
    posterior = Posterior(Kernel(pool), [False] * len(pool))
    posterior.learn([Run(k, draw.gauss(0, 0.01), k / 10) for k in range(len(ALONE))])
    _, sd = posterior.marginals()
    assert sd[len(ALONE)] > 2 * sd[0]


def test_the_same_runs_say_the_same_however_often_they_are_asked() -> None:
    """Only another run changes what is believed."""
    rates = ((ALONE[0], 100.0), (TWO[0], 110.0), (ALONE[0], 98.0))
    history = History([ended(n, c, rate=rate) for n, (c, rate) in enumerate(rates, 1)])
    learner = Learner(history, [ALONE[0], TWO[0]])
    first, second = (learner.learn().joint([0, 1]).means for _ in range(2))
    assert np.array_equal(first, second)
    history.add(ended(4, TWO[0], rate=120.0))
    assert not np.array_equal(first, learner.learn().joint([0, 1]).means)
