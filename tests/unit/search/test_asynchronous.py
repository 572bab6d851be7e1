"""Strategies whose workers do not wait for each other."""

from __future__ import annotations

from typing import Any

from autotune import Result, Verdict
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks.train import TrialRequest
from autotune.testing import FakeEngine

from .conftest import SPACE, Tuner, speed

SERVED = SPACE.model_copy(
    update={
        "strategies": ("one_device", "parameter_server"),
        "axes": {**SPACE.axes, "servers": (1,)},
    }
)


class Forgetful(FakeEngine):
    """Loses a quarter of the updates where there are parameter servers."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        lost = 0.25 if request.configuration.servers else None
        return super().run(request, watch).model_copy(update={"lost_updates": lost})


def tuned(tuner: Tuner, distributed: float) -> Result:
    engine = Forgetful(speed(distributed=distributed), between=0.03)
    options: dict[str, Any] = {"allow_asynchronous": True, "budget": 600.0}
    return tuner(speed(), engine=engine, space=SERVED, options=options)


def test_a_winner_says_that_it_changes_the_training(tuner: Tuner) -> None:
    result = tuned(tuner, 2.0)
    assert (result.verdict, result.config.strategy) == (Verdict.DISTRIBUTE, "parameter_server")
    assert "ParameterServerStrategy trains asynchronously" in result.reasons[0]
    assert "25% of the updates were lost" in result.reasons[0]
    assert "PROCESSES = {" in (result.launch or "")


def test_a_loser_says_what_it_lost(tuner: Tuner) -> None:
    """The share of lost updates belongs to its figure, and to every trial's record."""
    result = tuned(tuner, 0.7)
    assert result.verdict is Verdict.ONE_DEVICE
    assert any("25% of the updates were lost" in reason for reason in result.reasons)
    assert {t.lost_updates for t in result.trials if t.configuration.servers and t.windows} == {
        0.25
    }
