"""Strategies whose workers do not wait for each other."""

from __future__ import annotations

import pytest

from autotune import Verdict
from autotune.testing import FakeEngine, fake_machine

from .conftest import SPACE, Tuner, full_above_32, speed

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


@pytest.mark.parametrize(
    ("gpus", "words"),
    [((), "on this machine that saves no memory"), (("A", "B"), "instead of the")],
)
def test_a_full_memory_brings_up_parameter_servers(
    tuner: Tuner, gpus: tuple[str, ...], words: str
) -> None:
    engine = FakeEngine(full_above_32, machine=fake_machine(gpus=gpus))
    result = tuner(full_above_32, engine=engine, options={"budget": 600.0})
    assert any(words in reason for reason in result.reasons)
