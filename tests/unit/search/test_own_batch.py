"""What is recommended without saying anything must not cost learning."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.errors import UsageError
from autotune.options import SearchOptions
from autotune.reason.sentences import rule_text
from autotune.result import Result, Verdict
from autotune.testing import FAKE_FACTS, FakeEngine
from autotune.testing.fake import fake_learning
from autotune.workload import FitFacts, Returned

from .conftest import Tuner, speed
from .test_time_to_loss import steep

DEFAULT = SearchOptions().objective


def unasked(tuner: Tuner, *, distributed: float = 0.5, **facts: Any) -> Result:
    truth = steep(speed(distributed=distributed))
    engine = FakeEngine(truth, between=0.03, facts=FAKE_FACTS.model_copy(update=facts))
    return tuner(truth, engine=engine, options={"objective": DEFAULT, "budget": 400.0})


def test_the_own_batch_is_divided_among_replicas(tuner: Tuner) -> None:
    result = unasked(tuner, distributed=1.6)
    assert result.verdict is Verdict.DISTRIBUTE
    assert (result.config.global_batch, result.config.per_replica_batch) == (32, 16)
    assert result.one_device.global_batch == 32


def test_a_batch_that_cannot_be_divided_leaves_one_device(tuner: Tuner) -> None:
    """The plan names the batch, and the verdict does not say that nothing can run."""
    seen: list[Any] = []
    truth = speed()
    facts = FAKE_FACTS.model_copy(update={"usual_batch": 33})
    result = tuner(
        truth,
        engine=FakeEngine(truth, facts=facts),
        options={"objective": DEFAULT},
        observer=seen.append,
    )
    assert result.config.global_batch == 33
    assert "no distributed configuration can run at a global batch of 33" in result.summary
    plan = next(each.plan for each in seen if each.kind == "planned")
    limits = [rule_text(limit.rule) for each in plan.strategies for limit in each.limits]
    assert "a global batch of 33 is not divisible by the number of replicas" in limits


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, "is 32, the default of Keras"),
        ({"usual_batch": 48}, "is 48, the default of dataset_fn's batch_size"),
        ({"usual_batch": 48, "fit": FitFacts(line=6)}, "is 48, what the script gives to fit"),
        (
            {"usual_batch": 48, "returned": Returned(unbatched=True)},
            "is 48, that of the batches of dataset_fn",
        ),
    ],
)
def test_the_report_says_who_chose_the_batch(
    tuner: Tuner, facts: dict[str, Any], told: str
) -> None:
    """And it is the one that is recommended, and the only one that runs.

    However much faster, a trial at another batch would take time and count for nothing.
    """
    result = unasked(tuner, **facts)
    batches = {each.configuration.global_batch for each in result.trials}
    assert batches == {result.config.global_batch}
    assert any(f"Your own global batch {told}" in each for each in result.reasons)
    assert f"is {result.config.global_batch}," in told


def test_a_bound_on_the_batch_moves_the_reference(tuner: Tuner) -> None:
    result = tuner(speed(), options={"objective": DEFAULT, "max_global_batch": 16}, space=TINY)
    assert result.config.global_batch == 16
    assert any("16 is the closest that was compared" in each for each in result.reasons)


def test_a_batch_that_a_script_cannot_have_is_refused(tuner: Tuner) -> None:
    only = FitFacts(line=6, only_batch=48)
    facts = FAKE_FACTS.model_copy(update={"usual_batch": 48, "fit": only})
    engine = FakeEngine(speed(), facts=facts)
    with pytest.raises(UsageError, match="its own batches of 48, not with a global batch of 64"):
        tuner(speed(), engine=engine, options={"global_batch": 64})
    assert not engine.requests


TINY = {"strategies": ["one_device"], "axes": {"per_replica_batch": [8, 16, 32]}}


def test_throughput_never_asks_what_an_example_teaches(tuner: Tuner) -> None:
    engine = FakeEngine(steep(), learning=fake_learning(1e6))
    result = tuner(steep(), engine=engine, options={"objective": "throughput", "budget": 60.0})
    assert result.config.global_batch == 32
    assert result.facts.learning is not None
    assert not result.facts.learning.probes
    assert "LEARNING_RATE_FACTOR" not in result.script


def test_the_most_throughput_says_that_learning_was_not_looked_at(tuner: Tuner) -> None:
    """In the first line; a batch that the user holds fixed needs no such word."""
    told = "Learning was not looked at."
    assert told in tuner(speed(), options={"budget": 30.0}).summary
    held = tuner(speed(), options={"budget": 30.0, "global_batch": 64}, study="held")
    assert told not in held.summary
    assert told not in unasked(tuner).summary
