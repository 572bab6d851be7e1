"""What all runs together say, by one posterior."""

import math
import random
from itertools import product

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.search.kernel import Kernel
from autotune.search.posterior import LAST, MOST_RUNS, WALKERS, Outlook, Posterior, Run, condensed

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


def test_of_many_runs_the_older_ones_of_a_configuration_stand_together() -> None:
    """As one run at their median, which counts for less than all of them."""
    runs = [Run(n % 2, float(n), n / 10, error=0.1) for n in range(MOST_RUNS + 2)]
    assert condensed(runs[:MOST_RUNS]) == runs[:MOST_RUNS]
    found = condensed(runs)
    assert [*found[1 : 1 + LAST], *found[-LAST:]] == [*runs[0::2][-LAST:], *runs[1::2][-LAST:]]
    assert len(found) == 2 * (1 + LAST)
    older = runs[0::2][:-LAST]
    median, minutes = (older[0].log_score + older[-1].log_score) / 2, older[-1].minutes / 2
    counts = 1 + (len(older) - 1) * 2 / math.pi
    assert found[0] == pytest.approx(Run(0, median, minutes, 0.1, counts))


def test_marginals_are_those_of_an_outlook() -> None:
    """By one walker of eight."""
    draw = random.Random(1)
    posterior = learned([Run(row, 5.0 + draw.gauss(0, 0.1), row / 10) for row in range(8)])
    seen = posterior.outlook(range(len(POOL)), 1.0, WALKERS // 8)
    mean, sd = posterior.marginals()
    assert mean == pytest.approx(seen.mean.mean(0))
    assert sd == pytest.approx(np.sqrt(seen.variance.mean(0) + seen.mean.var(0)))


def test_draws_have_the_moments_of_the_outlook() -> None:
    """What ran is correlated as it is known, and what did not is with what ran."""
    covariance = np.array([[0.04, 0.02, 0.03], [0.02, 0.09, -0.01], [0.03, -0.01, 0.16]])
    mean = np.array([1.0, 2.0, 3.0])
    kept = {"across": covariance[None], "shown": mean[None], "noise": mean[None]}
    seen = Outlook(mean=mean[None], covariance=covariance[None], **kept)
    drawn = seen.draw(40_000, 0, ran=[0, 2])
    assert drawn.shape == (40_000, 3)
    assert drawn.mean(0) == pytest.approx(mean, abs=0.01)
    assert np.cov(drawn.T) == pytest.approx(covariance, abs=0.003)


def test_draws_of_what_did_not_run_deviate_in_common() -> None:
    kept = {"across": np.eye(3)[None], "shown": np.ones((1, 3)), "noise": np.ones((1, 3))}
    seen = Outlook(mean=np.zeros((1, 3)), covariance=np.eye(3)[None], **kept)
    _, one, other = seen.draw(100, 0, ran=[0]).T
    assert one == pytest.approx(other)
    assert seen.draw(100, 0, ran=[0]) == pytest.approx(seen.draw(100, 0, ran=[0]))


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
