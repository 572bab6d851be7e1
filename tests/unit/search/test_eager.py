"""A model that runs eagerly by the user's request is compared with what is compiled."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.config import Configuration
from autotune.program import render
from autotune.reason import Outcome
from autotune.result import Result
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.testing.fake import Ending
from autotune.workload import FitFacts, Workload

from .conftest import Tuner, speed


def searched(tuner: Tuner, **facts: Any) -> Result:
    rates = speed(distributed=0.5)

    def truth(configuration: Configuration) -> float | Ending:
        return rates(configuration) / (10 if configuration.run_eagerly else 1)

    known = FAKE_FACTS.model_copy(update={"eager": True, "fit": FitFacts(line=6, eager=4), **facts})
    return tuner(truth, engine=FakeEngine(truth, between=0.001, facts=known))


def test_what_compiling_gains_is_measured_and_told_first(tuner: Tuner) -> None:
    """The user's own settings come first, then the same compiled, and nothing else runs eagerly."""
    result = searched(tuner)
    first, second, *others = [each.configuration for each in result.trials]
    assert first == result.evidence.default == second.but(run_eagerly=True)
    assert not any(each.run_eagerly for each in others if each != first)
    assert not result.config.run_eagerly
    assert result.reasons[0].startswith(
        "Your model runs eagerly (line 4): compiled, it takes 1/10 of the time."
    )
    assert "model.run_eagerly = False" in result.script
    # Both sides of the answer are compiled.
    assert not result.one_device.run_eagerly
    assert result.best_distributed_speedup.high < 1


@pytest.mark.parametrize("told", [True, False])
def test_the_users_own_settings_have_the_xla_that_keras_takes(tuner: Tuner, *, told: bool) -> None:
    """Whatever the space holds; all others are tried without, unless it is an axis."""
    result = searched(tuner, eager=False, fit=None, jit_compile=told)
    first, second, *others = [each.configuration for each in result.trials]
    assert first == result.evidence.default
    assert [first.xla, second.xla] == [told, False]
    assert not any(each.xla for each in others if each != first)
    assert f".steps_per_execution = {result.config.xla}, " in result.script


def test_what_cannot_be_compiled_is_tuned_eagerly(tuner: Tuner) -> None:
    result = searched(tuner, uncompilable="AttributeError in train.py line 9")
    assert all(each.configuration.run_eagerly for each in result.trials)
    assert any(each.outcome is Outcome.MEASURED for each in result.trials)
    assert result.summary.startswith("No distributed configuration can run: the model runs eagerly")
    assert "(AttributeError in train.py line 9)" in result.reasons[0]


@pytest.mark.parametrize("eager", [True, False])
def test_a_program_of_factories_says_who_asks(workload: Workload, *, eager: bool) -> None:
    """Without a script there is no line to name."""
    facts = FAKE_FACTS.model_copy(update={"eager": True})
    text = render(Configuration().but(run_eagerly=eager), workload, facts, FAKE_MACHINE).train
    assert f"model.run_eagerly = {eager}" in text
    assert ("model_fn asks for eager execution" in text) is not eager
