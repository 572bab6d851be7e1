"""Where the time goes, found out with what is left of the budget."""

from __future__ import annotations

from collections.abc import Callable

from autotune.config import Configuration
from autotune.diagnose.breakdown import Part
from autotune.recommendation import Recommendation
from autotune.testing import FakeEngine

from .conftest import speed

Tuner = Callable[..., Recommendation]


def half_is_input(*, distributed: float) -> FakeEngine:
    """An engine on which every step waits half of its time for input."""
    truth = speed(distributed=distributed)

    def held(configuration: Configuration) -> float:
        rate = truth(configuration)
        assert isinstance(rate, float)
        return 2 * rate

    return FakeEngine(truth, held=held, between=0.02)


def test_the_limit_is_named_with_its_share(tuner: Tuner) -> None:
    """An input that takes half of the step is the limit, and the remedy is told."""
    engine = half_is_input(distributed=0.5)
    result = tuner(speed(), engine=engine, options={"seconds": 300.0})
    assert result.diagnosis is not None
    assert 0.4 < result.diagnosis.one_device.share(Part.INPUT) < 0.6
    assert any("waiting for input" in each for each in result.reasons)
    assert any("num_parallel_calls" in each for each in result.reasons)


def test_the_rival_is_taken_apart_although_it_lost(tuner: Tuner) -> None:
    """Why distribution does not pay is most wanted where it does not."""
    result = tuner(speed(), engine=half_is_input(distributed=0.3), options={"seconds": 300.0})
    assert result.diagnosis is not None
    assert result.diagnosis.distributed is not None
    assert result.diagnosis.distributed.configuration.distributed


def test_it_keeps_to_the_budget(tuner: Tuner) -> None:
    """Neither the search nor the experiments take time that was not given."""
    engine = half_is_input(distributed=0.5)
    tuner(speed(), engine=engine, options={"seconds": 60.0})
    assert engine.now() <= 62


def test_it_can_be_left_out(tuner: Tuner) -> None:
    """Whoever wants every second for the search gets it."""
    engine = half_is_input(distributed=0.5)
    result = tuner(speed(), engine=engine, options={"diagnose": False})
    assert result.diagnosis is None
    assert not any(request.held for request in engine.requests)


def test_it_is_part_of_what_can_be_read_back(tuner: Tuner) -> None:
    """The diagnosis survives JSON, infinities included."""
    result = tuner(speed(), engine=half_is_input(distributed=0.5), options={"seconds": 300.0})
    assert Recommendation.model_validate_json(result.model_dump_json()).diagnosis == (
        result.diagnosis
    )
