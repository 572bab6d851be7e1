"""What is recommended must not cost learning: a batch that pays, or else the user's own."""

from typing import Any

import pytest

from autotune.errors import UsageError
from autotune.learning import Learning, Unpredictable
from autotune.options import SearchOptions
from autotune.reason.sentences import rule_text
from autotune.result import Result, Verdict
from autotune.workload import FitFacts, Returned
from tests.engines.fake import FAKE_FACTS, FakeEngine, Speed, fake_learning

from .conftest import Tuner, speed

DEFAULT = SearchOptions().objective
ASKED = {"objective": "time_to_loss", "budget": 100.0}


def steep(truth: Speed = speed()) -> Speed:  # noqa: B008 - a function without state
    return lambda c: truth(c) * c.global_batch**0.7


def unasked(tuner: Tuner, *, distributed: float = 0.5, **facts: Any) -> Result:
    truth = steep(speed(distributed=distributed))
    engine = FakeEngine(truth, between=0.03, facts=FAKE_FACTS.model_copy(update=facts))
    return tuner(truth, engine=engine, options={"objective": DEFAULT, "budget": 400.0})


def test_the_own_batch_is_divided_among_replicas(tuner: Tuner) -> None:
    result = unasked(tuner, distributed=1.6)
    assert result.verdict is Verdict.DISTRIBUTE
    assert (result.config.global_batch, result.config.per_replica_batch) == (32, 16)
    assert result.answer.one_device.global_batch == 32


NEAREST = "a global batch of 264 in place of 265, 0.4 % smaller, as 265 is odd and Keras's fit"


@pytest.mark.parametrize("fixed", [{}, {"global_batch": 265}])
@pytest.mark.parametrize("gain", [0.5, 1.6])
def test_the_nearest_batch_that_divides_stands_for_the_own(
    tuner: Tuner, gain: float, fixed: dict[str, int]
) -> None:
    """It is compared with one device at the own, and named as the change that it is."""
    truth, seen = speed(distributed=gain), list[Any]()
    facts = FAKE_FACTS.model_copy(update={"usual_batch": 265})
    options = {"objective": DEFAULT, **fixed}
    engine = FakeEngine(truth, facts=facts)
    result = tuner(truth, engine=engine, options=options, observer=seen.append)
    batches = {(c.distributed, c.global_batch) for c in (t.configuration for t in result.trials)}
    assert batches == {(False, 265), (True, 264)}
    assert result.config.distributed is (gain > 1)
    assert f"takes {NEAREST} needs equal replicas." in result.summary
    assert "LEARNING_RATE_FACTOR" not in result.script
    plan = next(each.plan for each in seen if each.kind == "planned")
    assert NEAREST in " ".join(rule_text(rule) for s in plan.strategies for rule in s.changes)


def test_a_batch_that_cannot_be_divided_is_said_and_no_more(tuner: Tuner) -> None:
    """Nothing else ran, and nothing is said of it."""
    truth, facts = speed(), FAKE_FACTS.model_copy(update={"usual_batch": 1})
    options = {"objective": DEFAULT}
    result = tuner(truth, engine=FakeEngine(truth, facts=facts), options=options, space=ONES)
    assert "no distributed configuration can run at a global batch of 1," in result.summary
    assert "a global batch of 1 is odd, and Keras's fit needs equal replicas" in result.summary


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({}, "is 32, the default of Keras"),
        ({"usual_batch": 48}, "is 48, the default of dataset_fn's batch_size"),
        ({"usual_batch": 48, "fit": FitFacts(line=6)}, "is 48, what the script gives to fit"),
        (
            {"usual_batch": 48, "returned": Returned(unbatched=True)},
            "is 48, the size of the batches of dataset_fn",
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


def test_a_batch_that_a_script_cannot_have_is_refused(tuner: Tuner) -> None:
    only = FitFacts(line=6, only_batch=48)
    facts = FAKE_FACTS.model_copy(update={"usual_batch": 48, "fit": only})
    engine = FakeEngine(speed(), facts=facts)
    with pytest.raises(UsageError, match="its own batches of 48, not with a global batch of 64"):
        tuner(speed(), engine=engine, options={"global_batch": 64})
    assert not engine.requests


ONES = {
    "strategies": ["one_device", "mirrored"],
    "axes": {"per_replica_batch": [1], "replicas_per_worker": [2]},
}
TINY = {"strategies": ["one_device"], "axes": {"per_replica_batch": [8, 16, 32]}}


def test_throughput_never_asks_what_an_example_teaches(tuner: Tuner) -> None:
    engine = FakeEngine(steep(), learning=fake_learning(1e6))
    result = tuner(steep(), engine=engine, options={"objective": "throughput", "budget": 60.0})
    assert result.config.global_batch == 32
    assert not result.facts.learning.probes
    assert "LEARNING_RATE_FACTOR" not in result.script


def test_the_most_throughput_says_that_learning_was_not_looked_at(tuner: Tuner) -> None:
    """In the first line; a batch that the user holds fixed needs no such word."""
    told = "Learning was not looked at."
    assert told in tuner(speed(), options={"budget": 30.0}).summary
    held = tuner(speed(), options={"budget": 30.0, "global_batch": 64}, study="held")
    assert told not in held.summary
    assert told not in unasked(tuner).summary


def test_a_batch_that_teaches_as_much_is_taken(tuner: Tuner) -> None:
    """In gradients that are all noise, the fastest batch is the best.

    The program carries the learning rate of the comparison, as a constant, by whose name it can be
    changed; at the usual batch there is none.
    """
    learning = fake_learning(1e6)
    result = tuner(steep(), engine=FakeEngine(steep(), learning=learning), options=ASKED)
    assert result.config.global_batch > 32
    factor = learning.scaling(result.config.global_batch).rate
    assert f"LEARNING_RATE_FACTOR = {factor:.3g}\n" in result.script
    # "Probably", where the two that are compared have not both run again.
    assert any("faster to the same loss" in each for each in result.reasons)


def test_a_batch_that_costs_more_examples_than_it_gains_is_not(tuner: Tuner) -> None:
    result = tuner(speed(), engine=FakeEngine(speed(), learning=fake_learning(1.0)), options=ASKED)
    assert result.config.global_batch == 32
    assert any("the examples to the same loss" in each for each in result.reasons)
    assert not any("learning rate: faster to the same loss" in each for each in result.reasons)
    assert "LEARNING_RATE_FACTOR" not in result.script


def test_a_resumed_search_does_not_look_again(tuner: Tuner) -> None:
    first, again = (FakeEngine(steep(), learning=fake_learning(scale)) for scale in (1e6, 1.0))
    tuner(steep(), engine=first, options=ASKED, study="one")
    result = tuner(steep(), engine=again, options=ASKED, study="one", resume=True)
    assert (len(first.inspections), len(again.inspections)) == (1, 0)
    assert result.facts.learning.probes == fake_learning(1e6).probes


def test_a_resumed_search_looks_where_there_was_no_time(tuner: Tuner) -> None:
    first, again = (FakeEngine(steep(), learning=fake_learning(1e6)) for _ in range(2))
    tuner(steep(), engine=first, options={**ASKED, "budget": 8.0}, study="one")
    tuner(steep(), engine=again, options=ASKED, study="one", resume=True)
    assert (len(first.inspections), len(again.inspections)) == (0, 1)


def test_where_nothing_is_known_the_usual_batch_stays(tuner: Tuner) -> None:
    refused = Learning(batch=32, refused=Unpredictable.OWN_STEP)
    options = {**ASKED, "budget": 40.0}
    result = tuner(steep(), engine=FakeEngine(steep(), learning=refused), options=options)
    assert result.config.global_batch == 32
    assert any("Only a global batch of 32 was compared" in each for each in result.reasons)
