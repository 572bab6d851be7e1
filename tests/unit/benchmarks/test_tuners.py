"""The tuners that autotune is compared with."""

from __future__ import annotations

from itertools import product

import pytest

from autotune.config import Configuration
from benchmarks.tuners.chance import at_random, with_best_again
from benchmarks.tuners.meter import Tuner
from benchmarks.tuners.tpe import tpe, tpe_in_proportion

POOL = tuple(
    Configuration(per_replica_batch=batch, steps_per_execution=steps)
    for batch, steps in product((16, 32, 64, 128), (1, 2, 4, 8))
)
BEST = POOL[-1]


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


@pytest.mark.parametrize("tuner", [at_random, tpe, tpe_in_proportion])
def test_a_tuner_uses_its_time_and_repeats_nothing(tuner: Tuner) -> None:
    meter = Meter(8.0)
    tuner(POOL, meter, 0)
    assert len(meter.tried) == len(set(meter.tried)) == 8


def test_the_best_are_measured_again_and_luck_is_forgotten() -> None:
    """Three of them, twice each, and only that counts."""
    meter = Meter(100.0, lucky=POOL[0])
    assert with_best_again(at_random)(POOL, meter, 0) == BEST
    assert len(meter.tried) == len(POOL) + 6
    assert meter.tried[-6:-3] == meter.tried[-3:]
