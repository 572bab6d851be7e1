"""What all runs together say, by one posterior."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest

from autotune.config import Configuration
from autotune.search.kernel import Kernel
from autotune.search.posterior import Posterior, Run

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
    return math.sqrt(posterior.outlook([0], 0.0).noise.mean())


@pytest.mark.parametrize(("sd", "low", "high"), [(0.02, 0.01, 0.035), (0.12, 0.06, 0.2)])
def test_the_noise_is_learned_from_all_runs(sd: float, low: float, high: float) -> None:
    draw = random.Random(1)
    rows = [row for row in range(len(POOL)) for _ in range(2)]
    runs = [
        Run(row, 0.3 * math.log(POOL[row].global_batch) + draw.gauss(0, sd), number / 10)
        for number, row in enumerate(rows)
    ]
    assert low < noise(learned(runs)) < high


def test_what_configurations_differ_by_is_no_noise_on_a_quiet_machine() -> None:
    """Where eight repeats scatter by 0.3 %, though what no kernel explains scatters by 6 %."""
    draw = random.Random(1)
    own = [draw.gauss(0, 0.06) for _ in POOL]
    runs = [
        Run(row, 0.3 * math.log(POOL[row].global_batch) + own[row] + draw.gauss(0, 0.003), at / 10)
        for at, row in enumerate((*range(len(POOL)), *range(len(ALONE))))
    ]
    posterior = Posterior(Kernel(POOL), [each.distributed for each in POOL])
    for count in range(1, len(runs) + 1):
        posterior.learn(runs[:count])
    assert noise(posterior) < 0.012


def test_a_drift_of_the_machine_is_not_taken_for_a_gain() -> None:
    early = [Run(0, 0.0, t) for t in (0.0, 0.5, 1.0)]
    late = [Run(row, -0.15, 20 + t) for row, t in ((0, 0.0), (8, 0.3), (0, 0.6), (8, 0.9))]
    mean, _ = learned([*early, *late]).outlook([8, 0], 21.0).gap(0, 1)
    assert abs(mean.mean()) < 0.05


def test_runs_of_one_minute_tell_less_of_a_long_training_than_runs_of_an_hour() -> None:
    """The machine may be fast or slow just then, which no run of that minute can show."""

    def sd(minutes: float) -> float:
        draw = random.Random(1)
        runs = [Run(0, draw.gauss(0, 0.01), minutes * k / 8) for k in range(8)]
        seen = learned(runs).outlook([0], minutes)
        return math.sqrt(seen.variance.mean() + seen.mean.var())

    assert sd(1) > 1.5 * sd(60)


def test_without_runs_the_prior_answers() -> None:
    """A larger batch and more steps per call are expected to be faster; a run would tell much."""
    seen = Posterior(Kernel(POOL), [each.distributed for each in POOL]).outlook([0, 7], 0.0)
    assert seen.mean[:, 1].mean() > seen.mean[:, 0].mean()
    assert (seen.shown > seen.noise).all()


def test_a_run_tells_of_a_long_training_what_drift_and_noise_leave() -> None:
    """Of the same configuration most, and less where the machine drifts."""
    seen = learned([Run(0, 0.0, 0.0), Run(0, 0.02, 0.2)]).outlook([0, 15], 0.4)
    assert (seen.across[:, 0, 0] <= seen.shown[:, 0] + 1e-9).all()
    assert seen.across[:, 1, 1].mean() > seen.across[:, 1, 0].mean()
