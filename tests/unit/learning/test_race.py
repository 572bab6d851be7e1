"""Trainings to the same loss."""

from __future__ import annotations

import pytest

from autotune.learning import (
    Examples,
    Learning,
    Look,
    Race,
    Raced,
    Unraced,
    examples_needed,
    examples_to,
    learning_rate_factor,
    lowest,
    predicted_examples,
)
from autotune.testing.fake import fake_learning

FALLING = [Look(100 * (i + 1), 1.0 - 0.1 * i) for i in range(8)]
RACE = Race(
    loss=0.2,
    raced=(Raced(batch=128, needed=Examples(2.0, 3.0, 4.0), ratios=(2.9, 3.1)),),
)


def raced(race: Race) -> Learning:
    """Return what gradients tell, and trainings."""
    return fake_learning(64.0).model_copy(update={"race": race})


def test_a_loss_is_reached_between_two_looks() -> None:
    """It falls evenly here, so smoothing changes nothing."""
    assert examples_to(FALLING, 0.55) == pytest.approx(550)
    assert lowest(FALLING) == pytest.approx(0.4)


def test_one_lucky_look_reaches_nothing() -> None:
    """A look and its neighbours count together."""
    looks = [Look(i + 1, 0.5 if i != 4 else 0.2) for i in range(9)]
    assert examples_to(looks, 0.3) is None


@pytest.mark.parametrize("looks", [[], FALLING[:2]])
def test_too_few_looks_show_no_loss(looks: list[Look]) -> None:
    """They may be chance."""
    assert (lowest(looks), examples_to(looks, 10.0)) == (None, None)


def test_a_training_replaces_what_was_predicted() -> None:
    """Of batches that were not trained, nothing is known any more."""
    known = raced(RACE)
    assert examples_needed(known, 128) == (2.0, 3.0, 4.0)
    assert examples_needed(known, 512) is None
    assert examples_needed(known, 32) == (1.0, 1.0, 1.0)


def test_where_there_were_no_trainings_the_prediction_stays() -> None:
    """As it does where nobody asked for any."""
    predicted = predicted_examples(fake_learning(64.0), 128)
    assert predicted is not None
    for known in (fake_learning(64.0), raced(Race(refused=Unraced.NO_TIME))):
        assert examples_needed(known, 128) == predicted.examples


def test_the_learning_rate_is_that_of_the_training() -> None:
    """It was chosen by the prediction, whatever the training has shown."""
    assert learning_rate_factor(raced(RACE), 128) == learning_rate_factor(fake_learning(64.0), 128)


def test_it_is_read_back_from_json() -> None:
    """A saved configuration records what was proved."""
    known = raced(RACE)
    assert Learning.model_validate_json(known.model_dump_json()) == known
