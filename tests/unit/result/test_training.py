"""Training with a result, in this process and in others."""

import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from autotune import Result, UsageError, tune
from autotune.config import Configuration
from tests.engines.fake import FakeEngine

CALL = (lambda: None, lambda: None)
SPACE = {"strategies": ["one_device", "mirrored"], "axes": {"replicas_per_worker": [2]}}


@pytest.fixture(scope="module")
def result() -> Result:
    def speed(configuration: Configuration) -> float:
        return 1000.0 * configuration.replicas

    return tune(*CALL, space=SPACE, train_for="10h", max_trials=40, engine=FakeEngine(speed))


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stands for TensorFlow, which takes seconds; what was asked of its configuration."""
    asked: list[Any] = []

    def logical_cpus(count: int) -> list[str]:
        asked.append(count)
        return [f"CPU:{index}" for index in range(count)]

    distribute = SimpleNamespace(MirroredStrategy=lambda devices: ("mirrored", devices))
    fakes = {
        "tensorflow": SimpleNamespace(distribute=distribute),
        "autotune.library.keras_training": SimpleNamespace(logical_cpus=logical_cpus),
    }
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, name, fake)
    return asked


def test_the_strategy_is_that_of_the_program(result: Result, tensorflow: list[Any]) -> None:
    assert result.strategy() == ("mirrored", ["CPU:0", "CPU:1"])
    assert tensorflow == [2]


def test_a_strategy_that_cannot_be_made_here_is_told(
    result: Result, tensorflow: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    many = result.config.but(strategy="multi_worker_mirrored", workers=2, replicas_per_worker=1)
    with pytest.raises(UsageError, match=r"in 2 processes.*launch\.py"):
        result.model_copy(update={"configuration": many}).strategy()
    late = RuntimeError("Virtual devices cannot be modified after being initialized")
    library = sys.modules["autotune.library.keras_training"]
    monkeypatch.setattr(library, "logical_cpus", Mock(side_effect=late))
    with pytest.raises(UsageError, match=r"after being initialized.*before anything else"):
        result.strategy()
    assert not tensorflow


def test_a_training_has_an_epoch(result: Result) -> None:
    with pytest.raises(UsageError, match="epochs=0 is no training"):
        result.fit(epochs=0)


def test_what_the_program_lacks_is_told_before_it_runs() -> None:
    """A value that has no text, such as a large array, of a result that was read from a file."""
    value = object()
    found = tune(
        lambda: value, CALL[1], max_trials=2, budget=None, engine=FakeEngine(lambda _: 1.0)
    )
    workload = found.workload
    read = workload.model_copy(update={"model": workload.model.model_copy(update={"pickled": b""})})
    with pytest.raises(UsageError, match=r"lacks values.*value"):
        found.model_copy(update={"workload": read}).fit()
