"""A budget is a limit, whatever takes longer than was expected."""

import pytest

from autotune.errors import NothingMeasured
from tests.engines.late import Late, speed

from .conftest import Tuner

GRACE = 5.0
PARTS = (
    *("TrialRequest", "ObservationRequest", "LearningRequest", "BetweenEpochsRequest", "Profile"),
)


@pytest.mark.parametrize("budget", [45.0, 180.0])
@pytest.mark.parametrize("late", PARTS)
def test_no_part_of_a_search_goes_on_for_longer(tuner: Tuner, late: str, budget: float) -> None:
    """Trials, certification, gradients, validation and profile are ended with the budget."""
    engine = Late(late)
    options = {"budget": budget, "objective": "time_to_loss"}
    result = tuner(speed, engine=engine, options=options)
    assert result.seconds <= budget + GRACE
    assert engine.now() <= budget + GRACE


@pytest.mark.parametrize("budget", [20.0, 50.0])
def test_an_inspection_is_ended_with_the_budget(tuner: Tuner, budget: float) -> None:
    """Which is told, because no trial was begun."""
    engine = Late("InspectionRequest")
    with pytest.raises(NothingMeasured, match="the budget ran out while"):
        tuner(speed, engine=engine, options={"budget": budget})
    assert engine.now() <= budget + GRACE
