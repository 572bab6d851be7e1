"""The fake engine keeps the contract of all engines, without any process."""

import math
from pathlib import Path
from typing import cast

from autotune.config import Configuration
from autotune.engine import tasks
from autotune.engine.base import Engine, Stop, Task
from autotune.reason import Message, Outcome
from tests.acceptance.counting import Counting
from tests.engines.contract import KINDS, Behaviour, WrapperContract
from tests.engines.fake import FakeEngine, table


class TestFakeEngine(WrapperContract):
    @classmethod
    def wrap(cls, engine: Engine) -> Engine:
        return engine


class TestCountingEngine(WrapperContract):
    """The engine of the acceptance tests, around another one."""

    own = ("now",)

    @classmethod
    def wrap(cls, engine: Engine) -> Engine:
        return cast("Engine", Counting(engine))


def test_every_task_is_in_the_contract() -> None:
    """A task that no engine is tried with would be found by users."""
    found = [each for each in vars(tasks).values() if isinstance(each, type)]
    kinds = {each.__name__ for each in found if issubclass(each, Task) and hasattr(each, "code")}
    assert kinds == set(KINDS)


def test_a_table_gives_the_speeds_that_it_holds(tmp_path: Path) -> None:
    engine = FakeEngine(table({Configuration(): 320.0}), between=0, within=0)
    made = TestFakeEngine().make_request(Behaviour.MEASURED, tmp_path / "one")
    assert engine.execute(made, lambda _: None).reason == Message(text="not in the table")


def test_noise_is_as_large_as_it_was_told(tmp_path: Path) -> None:
    engine = FakeEngine(lambda _: 100.0, between=0.2, within=0.0)
    logs = [math.log(_rate(engine, tmp_path / str(n))) for n in range(200)]
    mean = sum(logs) / len(logs)
    assert 0.15 < math.sqrt(sum((each - mean) ** 2 for each in logs) / len(logs)) < 0.25


def _rate(engine: FakeEngine, folder: Path) -> float:
    request = TestFakeEngine().make_request(Behaviour.MEASURED, folder)
    window = engine.execute(
        request, lambda _: Stop(Outcome.MEASURED, Message(text="enough"))
    ).windows[0]
    return window.steps / window.seconds
