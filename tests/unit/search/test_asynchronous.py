"""Strategies whose workers do not wait for each other."""

from autotune import Verdict
from tests.engines.fake import FakeEngine

from .conftest import SPACE, Tuner, speed

SERVED = SPACE.model_copy(
    update={
        "strategies": ("one_device", "parameter_server"),
        "axes": {**SPACE.axes, "servers": (1,)},
    }
)


def test_a_winner_says_that_it_changes_the_training(tuner: Tuner) -> None:
    engine = FakeEngine(speed(distributed=2.0), between=0.03)
    options = {"allow_asynchronous": True, "budget": 600.0}
    result = tuner(speed(), engine=engine, space=SERVED, options=options)
    assert (result.verdict, result.config.strategy) == (Verdict.DISTRIBUTE, "parameter_server")
    assert "ParameterServerStrategy trains asynchronously" in result.reasons[0]
    assert "PROCESSES = {" in (result.launch or "")
