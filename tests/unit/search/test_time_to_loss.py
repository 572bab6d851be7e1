"""What is recommended where progress counts: a batch that pays, or else the usual one."""

from __future__ import annotations

from autotune.stats.efficiency import learning_rate_factor
from autotune.stats.gradients import Learning, Unpredictable
from autotune.testing import FakeEngine
from autotune.testing.fake import Speed, fake_learning

from .conftest import Tuner, speed

ASKED = {"objective": "time_to_loss", "budget": 100.0}


def steep(truth: Speed = speed()) -> Speed:  # noqa: B008 - a function without state
    return lambda c: truth(c) * c.global_batch**0.7


def test_a_batch_that_teaches_as_much_is_taken(tuner: Tuner) -> None:
    """In gradients that are all noise, the fastest batch is the best.

    The program carries the learning rate of the comparison, as a constant, by whose name it can be
    changed; at the usual batch there is none.
    """
    learning = fake_learning(1e6)
    result = tuner(steep(), engine=FakeEngine(steep(), learning=learning), options=ASKED)
    assert result.config.global_batch > 32
    factor = learning_rate_factor(learning, result.config.global_batch)
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
    assert result.facts.learning is not None
    assert result.facts.learning.probes == fake_learning(1e6).probes


def test_a_resumed_search_looks_where_there_was_no_time(tuner: Tuner) -> None:
    first, again = (FakeEngine(steep(), learning=fake_learning(1e6)) for _ in range(2))
    tuner(steep(), engine=first, options={**ASKED, "budget": 20.0}, study="one")
    tuner(steep(), engine=again, options=ASKED, study="one", resume=True)
    assert (len(first.inspections), len(again.inspections)) == (0, 1)


def test_where_nothing_is_known_the_usual_batch_stays(tuner: Tuner) -> None:
    refused = Learning(batch=32, refused=Unpredictable.OWN_STEP)
    options = {**ASKED, "budget": 40.0}
    result = tuner(steep(), engine=FakeEngine(steep(), learning=refused), options=options)
    assert result.config.global_batch == 32
    assert any("Only a global batch of 32 was compared" in each for each in result.reasons)
