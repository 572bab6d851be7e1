"""What is expected of configurations that were not run."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.reason import Message, Outcome
from autotune.search.history import History, Observed
from autotune.search.sampler import expected_improvement
from autotune.search.surrogate import Belief, Expectations, Surrogate
from autotune.trial import Stage, Trial

BATCHES, STEPS = (32, 64, 128, 256), (1, 8)
ALONE = [
    Configuration(per_replica_batch=batch, steps_per_execution=steps)
    for batch, steps in product(BATCHES, STEPS)
]
TWO = [each.but(strategy="mirrored", replicas_per_worker=2) for each in ALONE]
START = ALONE[0]


def shown(rates: dict[Configuration, float]) -> dict[Configuration, Observed]:
    return {c: Observed(math.log(rate), 0.02) for c, rate in rates.items()}


def test_gains_are_expected_to_multiply() -> None:
    """Of two gains seen one at a time, most is expected together."""
    rates = {
        START: 100.0,
        START.but(per_replica_batch=256): 150.0,
        START.but(steps_per_execution=8): 200.0,
    }
    belief = Surrogate(ALONE).believe(shown(rates), ALONE)
    best = ALONE[int(np.argmax(belief.mean))]
    assert (best.per_replica_batch, best.steps_per_execution) == (256, 8)


def test_what_one_device_gains_is_expected_of_replicas() -> None:
    """An effect seen on one device carries over to a strategy that was run once."""
    rates = {START: 100.0, START.but(per_replica_batch=256): 200.0, TWO[0]: 50.0}
    belief = Surrogate([*ALONE, *TWO]).believe(shown(rates), TWO)
    expected = dict(zip(TWO, belief.mean, strict=True))
    assert expected[TWO[0].but(per_replica_batch=256)] > math.log(70)


def test_values_between_are_expected_between() -> None:
    """A batch between two that were run is expected to do as well as these."""
    rates = {START: 100.0, START.but(per_replica_batch=256): 200.0}
    between = [START.but(per_replica_batch=batch) for batch in (64, 128)]
    belief = Surrogate(ALONE).believe(shown(rates), between)
    assert math.log(100) < belief.mean[0] < belief.mean[1] < math.log(200)


def test_what_was_run_is_known_best() -> None:
    """The uncertainty is smallest where something was run, and about its noise there."""
    belief = Surrogate(ALONE).believe(shown({START: 100.0}), ALONE)
    assert belief.sd[0] == min(belief.sd)
    assert belief.sd[0] == pytest.approx(0.02, rel=0.1)


def test_the_unit_does_not_matter() -> None:
    """Rates in another unit move every expectation by the same factor."""
    rates = {START: 100.0, ALONE[3]: 150.0}
    surrogate = Surrogate(ALONE)
    plain = surrogate.believe(shown(rates), ALONE)
    scaled = surrogate.believe(shown({c: 60 * rate for c, rate in rates.items()}), ALONE)
    assert scaled.mean - plain.mean == pytest.approx(math.log(60))


def test_nothing_is_expected_to_improve_on_certainty() -> None:
    """What is surely worse promises nothing; what is surely better promises the difference."""
    belief = Belief(np.array([-1.0, 1.0]), np.array([1e-3, 1e-3]))
    assert expected_improvement(belief, 0.0) == pytest.approx([0.0, 1.0], abs=1e-6)


def test_what_an_example_is_worth_is_known_and_not_learned() -> None:
    """A batch that needs twice the examples is expected at half of what its rate would be."""
    trial = Trial(
        number=0,
        stage=Stage.BASELINE,
        configuration=START,
        outcome=Outcome.MEASURED,
        reason=Message(text=""),
        examples_per_second=100.0,
    )
    history, far = History([trial]), START.but(per_replica_batch=256)
    plain = Expectations(history, ALONE, worth=lambda _: 0.0)
    halved = Expectations(history, ALONE, worth=lambda c: -math.log(2.0) if c == far else 0.0)
    (before,), (after,) = (each.of([far]).mean for each in (plain, halved))
    assert after == pytest.approx(before - math.log(2.0))
    assert halved.best(distributed=False) == plain.best(distributed=False)
