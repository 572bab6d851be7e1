"""The drawing of trainings to one loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.learning import Look, Race, Trained
from autotune.result import Result
from autotune.result.curves import curves
from autotune.result.saved import configuration_text
from autotune.testing import FAKE_FACTS
from autotune.testing.fake import fake_learning
from autotune.trial import Trial

MakeTrial = Callable[..., Trial]
Changed = Callable[..., Result]
FALLING = tuple(Look(1000 * i, 2.0 / i) for i in range(1, 9))
OWN = Trained(batch=32, seed=0, reached=8000.0, looks=FALLING)
OTHER = Trained(batch=128, seed=0, reached=16000.0, looks=FALLING)


@pytest.fixture(name="raced")
def fixture_raced(changed: Changed, make_trial: MakeTrial) -> Callable[..., Result]:
    """Returns a result of batches of 32 and 128, of which some were trained."""

    def make(*trained: Trained, loss: float = 0.25) -> Result:
        trials = [
            make_trial(i, Configuration(per_replica_batch=batch), examples_per_second=rate)
            for i, (batch, rate) in enumerate({32: 1000.0, 128: 4000.0}.items())
        ]
        race = Race(loss=loss, held_out=128, trainings=trained)
        learning = fake_learning(100.0).model_copy(update={"race": race})
        facts = FAKE_FACTS.model_copy(update={"learning": learning})
        own = Configuration()
        return changed(trials=tuple(trials), facts=facts, one_device=own, configuration=own)

    return make


def places(line: str) -> list[tuple[float, float]]:
    """Return the points of a line."""
    return [(float(x), float(y)) for x, _, y in (each.partition(",") for each in line.split())]


def test_a_curve_falls_over_the_seconds_of_its_examples(raced: Any) -> None:
    """At four times the speed, the same examples lie to the left at the same loss."""
    found = curves(raced(OWN, OTHER))
    assert found is not None
    own, other = (places(each.lines[0]) for each in found.batches)
    assert own == sorted(own)
    assert [y for _, y in own] == sorted(y for _, y in own)
    assert all(b[0] < a[0] and b[1] == a[1] for a, b in zip(own, other, strict=True))


def test_the_table_gives_seconds_to_the_loss(raced: Any) -> None:
    """Those of each seed; one that never came to it says so."""
    lost = OTHER.model_copy(update={"seed": 1, "reached": None})
    found = curves(raced(OTHER, OWN, lost))
    assert found is not None
    assert [(each.batch, list(each.reached)) for each in found.batches] == [
        (32, ["8"]),
        (128, ["4", "not reached"]),
    ]


@pytest.mark.parametrize("trained", [(), (OTHER,)])
def test_nothing_is_drawn_without_the_own_batch(raced: Any, trained: tuple[Trained, ...]) -> None:
    """A result of before has no curves; without the own batch there is nothing to compare."""
    assert curves(raced(*trained)) is None
    assert "came to the loss" not in raced(*trained).report()


def test_a_negative_loss_is_not_drawn(raced: Any) -> None:
    """It has no logarithm."""
    below = OWN.model_copy(update={"looks": (Look(1000, 0.1), Look(2000, -0.1))})
    assert curves(raced(below, OTHER, loss=-0.1)) is None


def test_a_loss_that_diverges_stays_within_the_drawing(raced: Any) -> None:
    """It leads to the upper edge, and the others keep their room."""
    wild = OTHER.model_copy(update={"reached": None, "looks": (Look(1000, 1.0), Look(2000, 1e30))})
    found = curves(raced(OWN, wild))
    assert found is not None
    assert 0 <= places(found.batches[1].lines[0])[-1][1] < 5
    assert places(found.batches[0].lines[0])[-1][1] > 90


def test_the_report_draws_them_and_a_configuration_leaves_them_out(raced: Any) -> None:
    """They would be hundreds of lines of it."""
    result = raced(OWN, OTHER)
    assert "How soon each batch came to the loss" in result.report()
    assert "trainings" not in configuration_text(result.saved(), ".yaml")
    assert Result.model_validate_json(result.model_dump_json()).facts == result.facts
