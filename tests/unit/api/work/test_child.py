"""The engine between the search and the real one."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from autotune.api.values import AttemptReport
from autotune.api.work import child
from autotune.api.work.child import Message, Reporting, SearchOrder
from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.tasks import trial_in
from autotune.errors import EngineError
from autotune.events import Notice
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from tests.engines.contract import KINDS, WrapperContract, every_task
from tests.engines.fake import FakeEngine
from tests.trials import request_for

BAD = Configuration(per_replica_batch=64)


@pytest.fixture(autouse=True, scope="module")
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def shown() -> list[Message]:
    return []


@pytest.fixture
def engine(shown: list[Message]) -> Engine:
    return Reporting(FakeEngine(lambda _: 100.0), shown.append, [BAD])


def test_a_search_that_waits_does_not_tell_what_the_holder_of_the_machine_wrote(
    order_after: Callable[[], SearchOrder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any account of the machine may write that."""
    shown, engine = [], FakeEngine(lambda _: 100.0)
    engine.reserved = lambda what, notify, _: notify(f"/home/somebody keeps {what} waiting.")
    monkeypatch.setattr(child, "new_engine", lambda _: engine)

    def send(what: Message) -> None:
        shown.append(what)
        raise EngineError("stopped")

    with pytest.raises(EngineError, match="stopped"):
        child._search(order_after(), send, None)
    assert shown == [Notice(text=child.BUSY)]


TRIALS = [name for name, task in every_task(Path("unused")).items() if trial_in(task)]
"""Tasks that run a configuration, whatever for."""


@pytest.mark.parametrize("kind", TRIALS)
def test_nothing_is_run_that_is_set_aside(shown: list[Message], tmp_path: Path, kind: str) -> None:
    inner = create_autospec(Engine, instance=True)
    engine = Reporting(inner, shown.append, [Configuration()])
    engine.execute(every_task(tmp_path)[kind])
    assert shown == inner.method_calls == []


def test_a_trial_that_is_set_aside_has_the_reason(engine: Engine, tmp_path: Path) -> None:
    result = engine.execute(request_for("fit", tmp_path, configuration=BAD))
    assert result.outcome is Outcome.CRASHED
    assert "died twice" in reason_text(result.reason)


@pytest.mark.parametrize("kind", TRIALS)
def test_what_runs_is_told(shown: list[Message], tmp_path: Path, kind: str) -> None:
    engine = Reporting(create_autospec(Engine, instance=True), shown.append, [])
    engine.execute(every_task(tmp_path)[kind])
    assert shown == [AttemptReport(running=Configuration()), AttemptReport(idle=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_runs_after_an_interrupt(engine: Engine, tmp_path: Path, kind: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        engine.execute(every_task(tmp_path)[kind])
    with pytest.raises(KeyboardInterrupt):
        engine.machine()
    assert engine.now() == 0.0, "the search could not end"


class TestReportingEngine(WrapperContract):
    @classmethod
    def wrap(cls, engine: Engine) -> Engine:
        return Reporting(engine, lambda _: None, [])
