"""The user's own global batch and learning rate are kept, unless another batch surely pays."""

import math
from collections import Counter
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.result import Result
from tests.engines.fake import FAKE_FACTS, FakeEngine, Speed, fake_learning

from .conftest import Tuner

OWN = 64
SPACE: dict[str, Any] = {
    "strategies": ["one_device", "mirrored"],
    "axes": {
        "per_replica_batch": [32, 64, 128],
        "steps_per_execution": [1, 8],
        "replicas_per_worker": [2],
    },
}


def by_steps(configuration: Configuration) -> float:
    return 328.0 * (6.0 if configuration.steps_per_execution > 1 else 1.0)


def mirrored_only(configuration: Configuration) -> float:
    alone = 2000.0
    larger = configuration.global_batch / OWN
    return 0.4 * alone * larger**0.8 if configuration.distributed else alone


def steep(configuration: Configuration) -> float:
    return 40.0 * configuration.global_batch


def search(
    tuner: Tuner,
    truth: Speed,
    *,
    scale: float = 300.0,
    budget: float = 100.0,
    space: dict[str, Any] = SPACE,
    **more: object,
) -> Result:
    learning = fake_learning(scale).model_copy(update={"batch": OWN})
    facts = FAKE_FACTS.model_copy(update={"usual_batch": OWN})
    given = {"between": 0.05, "seed": 0, **more}
    engine = FakeEngine(truth, learning=learning, facts=facts, **given)
    options = {"objective": "time_to_loss", "budget": budget}
    return tuner(truth, engine=engine, options=options, space=space, study=f"s{given['seed']}")


@pytest.fixture(autouse=True)
def rough_posterior() -> None:
    """Here it is drawn as in a search: how sure another batch pays decides."""


@pytest.mark.parametrize(
    ("truth", "budget", "noise", "seed"),
    [
        (by_steps, 40.0, 0.05, 1),
        (by_steps, 80.0, 0.16, 4),
        (mirrored_only, 40.0, 0.16, 4),
        (mirrored_only, 80.0, 0.16, 1),
    ],
)
def test_what_does_not_surely_pay_leaves_batch_and_rate_alone(
    tuner: Tuner, truth: Speed, budget: float, noise: float, seed: int
) -> None:
    """As noisy as machines were seen, and whatever only more steps per call or replicas gain."""
    result = search(tuner, truth, budget=budget, between=noise, seed=seed)
    assert result.config.global_batch == OWN
    assert "LEARNING_RATE_FACTOR" not in result.script
    assert "The global batch is" not in result.summary


def test_a_batch_that_surely_pays_is_named_first(tuner: Tuner) -> None:
    result = search(tuner, steep, scale=1e6)
    batch = result.config.global_batch
    assert batch > OWN
    factor = f"{math.sqrt(batch / OWN):.2g}"
    assert f"The global batch is {batch} instead of your own 64, the" in result.summary
    assert f"learning rate {factor} times your own" in result.summary


def test_the_own_batch_is_told_once_where_it_is_far_slower(tuner: Tuner) -> None:
    wide = {**SPACE, "axes": {**SPACE["axes"], "per_replica_batch": [32, 64, 128, 1024]}}
    result = search(tuner, steep, scale=1e6, between=0.02, seed=6, space=wide)
    pruned = Counter(t.configuration for t in result.trials if t.outcome is Outcome.PRUNED)
    assert max(pruned.values()) == 1
