"""Batches that are trained to the same loss, in place of what gradients let predict."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.engine.tasks.train_to_loss import TrainingRequest
from autotune.errors import UsageError
from autotune.learning import Curve, Learning, Race, Unpredictable, Unraced
from autotune.plan import times_in_words
from autotune.result import Result
from autotune.search.prove import LOOKS, MOST_EPOCHS
from autotune.testing import FakeEngine
from autotune.testing.fake import FAKE_FACTS, fake_learning
from autotune.workload import Returned, WorkloadFacts

Tuner = Callable[..., Result]
ASKED = {"objective": "time_to_loss", "budget": 400.0, "prove": True}
UNBOUNDED = {**ASKED, "budget": None, "max_trials": 12}


def steep(configuration: Configuration) -> float:
    """Return a truth in which a batch of 128 is 2.6 times as fast as one of 32."""
    return 1000 * configuration.global_batch**0.7 * (0.6 if configuration.distributed else 1.0)


def engine(needs: float | None, scale: float = 1e6, **more: Any) -> FakeEngine:
    """Return an engine on which a batch of 128 needs so many times the examples.

    Args:
        needs: None: it offers no trainings.
        scale: Noise scale of the gradients: at a large one, any batch is predicted to pay.
        more: Other arguments of the engine.
    """
    given = {"learning": fake_learning(scale), "between": 0.02, **more}
    wanted = (lambda batch: (batch / 32) ** math.log(needs, 4)) if needs else None
    return FakeEngine(steep, needs=wanted, **given)


def race_of(result: Result) -> Race:
    """Return what trainings to a loss have shown."""
    learning = result.facts.learning
    assert learning is not None
    assert learning.race is not None
    return learning.race


def said(result: Result, text: str) -> bool:
    """Return whether a reason says something."""
    return any(text in each for each in result.reasons)


@pytest.mark.parametrize("options", [ASKED, UNBOUNDED])
def test_a_batch_that_gradients_favour_is_refused_by_the_race(
    tuner: Tuner, options: dict[str, Any]
) -> None:
    """It needs more examples than its speed brings."""
    result = tuner(steep, engine=engine(3.5), options=options)
    assert result.config.global_batch == 32
    assert said(result, "the examples, ") or said(result, "did not reach a held-out loss")
    assert said(result, "slower to the same loss")


@pytest.mark.parametrize("options", [ASKED, UNBOUNDED])
def test_a_batch_that_gradients_refuse_is_favoured_by_the_race(
    tuner: Tuner, options: dict[str, Any]
) -> None:
    """What was predicted was too unsure to prefer it."""
    assert (
        tuner(steep, engine=engine(None, 5.0), options={**options, "prove": False}).config[
            "per_replica_batch"
        ]
        == 32
    )
    result = tuner(steep, engine=engine(1.1, 5.0), options=options, study="proved")
    assert result.config.global_batch > 32
    assert said(result, "it pays")
    assert said(result, "reached a held-out loss of")


def test_what_no_seed_decides_stays_undecided(tuner: Tuner) -> None:
    """A batch that needs as much as it brings is trained from every seed, and not recommended."""
    running = engine(2.63, between=0.1)
    result = tuner(steep, engine=running, options=ASKED)
    assert result.config.global_batch == 32
    assert said(result, "it may pay or not")


def test_what_is_clear_is_trained_no_more(tuner: Tuner) -> None:
    """Three seeds do for one that needs far too many examples; it is given up before the end."""
    running = engine(40.0, between=0.001)
    race = race_of(tuner(steep, engine=running, options=ASKED))
    assert {len(each.ratios) for each in race.raced} == {3}
    assert all(each.unreached == 3 and max(each.ratios) < 10 for each in race.raced)


def test_an_easy_loss_is_not_chased_beyond_some_epochs(tuner: Tuner) -> None:
    """However long the time would last, the first training is bounded by them."""
    running = engine(2.63)
    race_of(tuner(steep, engine=running, options={**ASKED, "budget": 36_000}))
    first = running.trainings[0]
    assert first.loss is None
    assert first.most == MOST_EPOCHS * first.examples


@pytest.mark.parametrize("seconds", [150.0, 330.0])
def test_a_slow_preparation_leaves_time_for_trials(tuner: Tuner, seconds: float) -> None:
    """The trainings take their share of what it has left, or nothing where that does not do."""

    class Slow(FakeEngine):
        def inspect(self, *arguments: Any, **options: Any) -> WorkloadFacts:
            self._time += seconds
            return super().inspect(*arguments, **options)

    needed = {"needs": lambda _: 1.0, "learning": fake_learning(1e6)}
    result = tuner(steep, engine=Slow(steep, **needed), options=ASKED)
    assert result.one_device is not None
    assert (race_of(result).refused is Unraced.NO_TIME) is (seconds == 330.0)


def test_what_was_trained_can_be_drawn(tuner: Tuner) -> None:
    """A curve of some looks is kept of each training, and what it needed to the loss."""
    running = engine(2.63, between=0.1)
    race = race_of(tuner(steep, engine=running, options=ASKED))
    assert len(race.trainings) == len(running.trainings)
    assert all(1 < len(each.looks) <= LOOKS for each in race.trainings)
    ratios = [each.reached for each in race.trainings if each.batch == race.raced[0].batch]
    assert all(each is None or each > 0 for each in ratios)
    assert sum(each is None for each in ratios) == race.raced[0].unreached


def test_seeds_and_batches_take_turns(tuner: Tuner) -> None:
    """Each seed trains the user's own batch too, to which it is compared."""
    running = engine(2.63, between=0.1)
    tuner(steep, engine=running, options=ASKED)
    by_seed: dict[int, set[int]] = {}
    for each in running.trainings:
        by_seed.setdefault(each.trial.seed, set()).add(each.trial.configuration.global_batch)
    assert len(by_seed) >= 2
    assert all(32 in batches and len(batches) > 1 for batches in by_seed.values())


def test_a_batch_without_a_prediction_is_trained_as_well(tuner: Tuner) -> None:
    """A model with a train_step of its own can be trained, though no formula holds for it."""
    refused = Learning(batch=32, refused=Unpredictable.OWN_STEP)
    result = tuner(steep, engine=engine(1.1, learning=refused), options=ASKED)
    assert result.config.global_batch > 32
    assert not said(result, "how the model learns at others is not known")


def test_a_resumed_search_does_not_race_again(tuner: Tuner) -> None:
    """The study keeps what the trainings have shown."""
    first, again = engine(1.1), engine(30.0)
    tuner(steep, engine=first, options=ASKED, study="one")
    result = tuner(steep, engine=again, options=ASKED, study="one", resume=True)
    assert first.trainings
    assert not again.trainings
    assert race_of(result).raced


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"examples": None}, Unraced.UNCOUNTED),
        ({"same_examples": False}, Unraced.CHANGING),
    ],
)
def test_examples_that_cannot_be_held_out_are_not_raced(
    tuner: Tuner, facts: dict[str, Any], why: Unraced
) -> None:
    """The prediction stays, and the reason is told."""
    running = engine(1.1, facts=FAKE_FACTS.model_copy(update=facts))
    result = tuner(steep, engine=running, options=ASKED)
    assert (race_of(result).refused, running.trainings) == (why, [])
    assert said(result, "Nothing was proved of other batches")


def test_what_the_user_validates_with_needs_nothing_held_out(tuner: Tuner) -> None:
    """Then the examples to train on may change from pass to pass."""
    facts = {"same_examples": False, "returned": Returned(beside=True)}
    running = engine(2.63, facts=FAKE_FACTS.model_copy(update=facts))
    result = tuner(steep, engine=running, options=ASKED)
    assert race_of(result).raced
    assert all(each.validates for each in running.trainings)
    assert said(result, "of your own validation data")


def test_a_budget_that_is_too_short_is_told_before_and_after(tuner: Tuner) -> None:
    """The card names one that would do; the prediction stays."""
    events: list[Any] = []
    running = engine(1.1)
    result = tuner(steep, engine=running, options={**ASKED, "budget": 60.0}, observer=events.append)
    (plan,) = (each.plan for each in events if each.kind == "planned")
    assert (plan.prove_seconds, running.trainings) == (0.0, [])
    assert plan.prove_budget > 60
    assert "too short to prove anything" in times_in_words(plan)
    assert race_of(result).refused is Unraced.NO_TIME


def test_the_card_tells_what_is_kept_for_the_trainings(tuner: Tuner) -> None:
    """They take no more than that."""
    events: list[Any] = []
    result = tuner(steep, engine=engine(2.63), options=ASKED, observer=events.append)
    (plan,) = (each.plan for each in events if each.kind == "planned")
    assert "Up to 2 min 20 s of that is for training batches" in times_in_words(plan)
    assert 0 < race_of(result).seconds <= plan.prove_seconds


def test_ctrl_c_during_the_trainings_ends_the_search(tuner: Tuner) -> None:
    """With what the trials have shown; a search that is resumed begins the trainings again."""

    class Stopped(FakeEngine):
        def train(self, request: TrainingRequest) -> Curve:  # noqa: ARG002 - given
            raise KeyboardInterrupt

    stopped = Stopped(steep, learning=fake_learning(1e6))
    result = tuner(steep, engine=stopped, options=ASKED, study="one")
    assert result.interrupted
    again = engine(1.1)
    tuner(steep, engine=again, options=ASKED, study="one", resume=True)
    assert again.trainings


def test_where_no_batch_may_pay_nothing_is_trained(tuner: Tuner) -> None:
    """Speed that does not grow with the batch cannot make up for anything."""
    level = lambda configuration: 1000.0  # noqa: ARG005, E731 - as short as it is
    running = FakeEngine(level, learning=fake_learning(1.0), needs=float, between=0.02)
    result = tuner(level, engine=running, options=ASKED)
    assert race_of(result).refused is Unraced.NO_RIVAL
    assert not running.trainings


@pytest.mark.parametrize("wrong", [{"objective": "throughput"}, {"global_batch": 64}])
def test_a_proof_of_nothing_is_refused(tuner: Tuner, wrong: dict[str, Any]) -> None:
    """An objective that compares no batches, or a batch that is fixed, leaves nothing to race."""
    with pytest.raises(UsageError, match="prove"):
        tuner(steep, options={**ASKED, **wrong})
