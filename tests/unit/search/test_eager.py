"""A model that runs eagerly by the user's request is compared with what is compiled."""

from typing import Any

import pytest

from autotune.config import Configuration
from autotune.engine.base import Stop
from autotune.program import render
from autotune.reason import Outcome
from autotune.result import Result
from autotune.workload import FitFacts, Workload
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, FakeEngine

from .conftest import Tuner, speed


def searched(tuner: Tuner, **facts: Any) -> Result:
    rates = speed(distributed=0.5)

    def truth(configuration: Configuration) -> float | Stop:
        return rates(configuration) / (10 if configuration.run_eagerly else 1)

    known = FAKE_FACTS.model_copy(update={"eager": True, "fit": FitFacts(line=6, eager=4), **facts})
    return tuner(truth, engine=FakeEngine(truth, between=0.001, facts=known))


def test_what_compiling_gains_is_measured_and_told_first(tuner: Tuner) -> None:
    """The user's own settings run, and nothing else runs eagerly."""
    result = searched(tuner)
    own, ran = result.answer.own, {each.configuration for each in result.trials}
    assert own.run_eagerly
    assert {each for each in ran if each.run_eagerly} == {own}
    assert not result.config.run_eagerly
    assert result.reasons[0].startswith("Your model runs eagerly (line 4)")
    assert "model.run_eagerly = False" in result.script
    # Both sides of the answer are compiled.
    assert not result.answer.one_device.run_eagerly


@pytest.mark.parametrize("told", [True, False])
def test_the_users_own_settings_have_the_xla_that_keras_takes(tuner: Tuner, *, told: bool) -> None:
    """Whatever the space holds; all others are tried without, unless it is an axis."""
    result = searched(tuner, eager=False, fit=None, jit_compile=told)
    own, ran = result.answer.own, {each.configuration for each in result.trials}
    assert own.xla is told
    assert {each for each in ran if each.xla} <= {own}
    assert f".steps_per_execution = {result.config.xla}, " in result.script


def test_what_cannot_be_compiled_is_tuned_eagerly(tuner: Tuner) -> None:
    result = searched(tuner, uncompilable="AttributeError in train.py line 9")
    assert all(each.configuration.run_eagerly for each in result.trials)
    assert any(each.outcome is Outcome.MEASURED for each in result.trials)
    assert "no distributed configuration can run: the model runs eagerly" in result.summary
    assert "(AttributeError in train.py line 9)" in result.reasons[0]


@pytest.mark.parametrize("eager", [True, False])
def test_a_program_of_factories_says_who_asks(workload: Workload, *, eager: bool) -> None:
    """Without a script there is no line to name."""
    facts = FAKE_FACTS.model_copy(update={"eager": True})
    text = render(Configuration().but(run_eagerly=eager), workload, facts, FAKE_MACHINE).train
    assert f"model.run_eagerly = {eager}" in text
    assert ("model_fn asks for eager execution" in text) is not eager
