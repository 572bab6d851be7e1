"""The comparison with other tuners: the tuners, what counts as wrong, and the page of the rows."""

from itertools import product

import pytest

from autotune.config import Configuration
from autotune.stats.intervals import Interval
from benchmarks.peers.compare import Row, figures, rows
from benchmarks.peers.job import Entry
from benchmarks.peers.tuners import BEST, TIMES, TUNERS, at_random

ONE = Configuration()
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)
POOL = tuple(
    Configuration(per_replica_batch=batch, steps_per_execution=steps)
    for batch, steps in product((16, 32, 64, 128), (1, 2, 4, 8))
)


class Meter:
    """Measures at once; the first figure of a configuration may be lucky."""

    trial_seconds = 1.0

    def __init__(self, left: float, lucky: Configuration | None = None) -> None:
        self.left = left
        self.tried: list[Configuration] = []
        self._lucky = lucky

    def measure(self, configuration: Configuration) -> float | None:
        """Return the batch times the steps."""
        self.left -= self.trial_seconds
        first = configuration not in self.tried
        self.tried.append(configuration)
        if configuration == self._lucky and first:
            return 1e6
        return float(configuration.per_replica_batch * configuration.steps_per_execution)


@pytest.mark.parametrize("name", TUNERS)
def test_a_tuner_uses_its_time(name: str) -> None:
    meter = Meter(14.0)
    TUNERS[name](POOL, meter, 0)
    assert len(meter.tried) == 14
    assert len({*meter.tried}) >= 14 - BEST * TIMES


def test_the_best_are_measured_again_and_luck_is_forgotten() -> None:
    meter = Meter(100.0, lucky=POOL[0])
    assert at_random(POOL, meter, 0) == POOL[-1]
    assert len(meter.tried) == len(POOL) + BEST * TIMES
    assert meter.tried[-2 * BEST : -BEST] == meter.tried[-BEST:]


def about(value: float, spread: float) -> Interval:
    return Interval(low=value / spread, value=value, high=value * spread)


def row(recommended: Configuration, seed: int = 0, **changed: object) -> Row:
    told = {
        "workload": "digits",
        "seed": seed,
        "contestant": "tpe",
        "trials": 12,
        "recommended": recommended,
        "share": about(0.9, 1.1),
        "over_one_device": about(0.9, 1.05),
        "gain": about(0.9, 1.05),
    }
    return Row.model_validate({**told, **changed})


def test_wrong_and_missed_need_significance() -> None:
    """The whole interval has to lie below one device, or above it for what was missed."""
    assert row(TWO).wrong
    assert not row(TWO, over_one_device=about(0.9, 1.2)).wrong
    assert not row(ONE).wrong
    assert row(ONE, gain=about(1.2, 1.1)).missed
    assert not row(ONE, gain=about(1.2, 1.3)).missed
    assert not row(TWO, gain=about(1.2, 1.1)).missed


def test_what_failed_in_half_of_its_runs_is_no_best() -> None:
    """The last recommendation counts, else the fastest trial."""
    logs = {
        "autotune": [
            Entry(seconds=1.0, configuration=TWO, rate=500.0),
            Entry(seconds=2.0, what="recommendation", configuration=ONE),
        ],
        "tpe": [Entry(seconds=1.0, configuration=TWO, rate=900.0)],
    }
    mine, other = rows("digits", 0, logs, {ONE: {0: 100.0, 1: 50.0}, TWO: {1: 900.0}})
    assert (mine.recommended, mine.trials, mine.share) == (ONE, 1, about(1.0, 1.0))
    assert (other.recommended, other.share) == (TWO, None)


def test_the_page_has_the_n_that_there_are() -> None:
    """Median and lowest share, and wrong ones with their interval."""
    text = "\n".join(figures([row(TWO), row(ONE, seed=1, share=about(0.5, 1.1))], "CPU", {}))
    assert "seeds 0, 1." in text
    assert "| TPE on autotune's engine | 2 | 12 | 0.70, 0.50 | 1 of 2 (9.5% to 90.5%) |" in text
