"""The engine between the search and the real one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from autotune.api.isolation import Network
from autotune.api.work import child
from autotune.api.work.child import interruptible
from autotune.api.work.messages import Message, RunBegun, RunOver, SearchOrder
from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.engine.lock import Notify
from autotune.engine.tasks.train import TrialRequest, trial_in
from autotune.errors import EngineError
from autotune.events import Notice
from autotune.options import SearchOptions
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.roles import Role
from autotune.testing import FakeEngine
from autotune.testing.contract import KINDS, WrapperContract, every_task
from autotune.workload import Workload

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
    return interruptible(FakeEngine(lambda _: 100.0), shown.append, [BAD])


def request(configuration: Configuration, workload: Workload, folder: Path) -> TrialRequest:
    return TrialRequest(
        configuration=configuration,
        script="",
        workload=workload,
        roles=(Role(),),
        folder=folder / "trial",
    )


class BusyEngine(FakeEngine):
    @contextmanager
    def reserved(self, what: str, notify: Notify, seconds: float | None = None) -> Iterator[None]:
        del seconds
        notify(f"Another search (/home/somebody) keeps {what} waiting. Press Ctrl-C to stop.")
        raise EngineError("stopped")
        yield


def test_what_the_holder_of_the_machine_wrote_is_not_told(
    shown: list[Message], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any account of the machine may write it, and who asked for the job has no Ctrl-C."""
    monkeypatch.setattr(child, "new_engine", lambda _: BusyEngine(lambda _: 100.0))
    order = SearchOrder(
        name="job",
        model="m.py:m",
        dataset="m.py:d",
        space="quick",
        model_arguments=(),
        dataset_arguments=(),
        options=SearchOptions(),
        out=tmp_path,
        engine="local",
    )
    with pytest.raises(EngineError):
        child._search(order, shown.append, Network(own=True))
    assert shown == [Notice(text=child.BUSY)]


TRIALS = [name for name, task in every_task(Path("unused")).items() if trial_in(task)]
"""Tasks that run a configuration, whatever for."""


@pytest.mark.parametrize("kind", TRIALS)
def test_nothing_is_run_that_is_set_aside(shown: list[Message], tmp_path: Path, kind: str) -> None:
    """Neither timed, certified, screened nor looked at: its process died twice."""
    inner = create_autospec(Engine, instance=True)
    engine = interruptible(inner, shown.append, [Configuration()])
    engine.execute(every_task(tmp_path)[kind])
    assert shown == inner.method_calls == []


def test_a_trial_that_is_set_aside_has_the_reason(
    engine: Engine, workload: Workload, tmp_path: Path
) -> None:
    result = engine.execute(request(BAD, workload, tmp_path), lambda _: None)
    assert result.outcome is Outcome.CRASHED
    assert "died twice" in reason_text(result.reason)


@pytest.mark.parametrize("kind", TRIALS)
def test_what_runs_is_told(shown: list[Message], tmp_path: Path, kind: str) -> None:
    engine = interruptible(create_autospec(Engine, instance=True), shown.append, [])
    engine.execute(every_task(tmp_path)[kind])
    assert shown == [RunBegun(configuration=Configuration()), RunOver()]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_runs_after_an_interrupt(engine: Engine, tmp_path: Path, kind: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        engine.execute(every_task(tmp_path)[kind])
    with pytest.raises(KeyboardInterrupt):
        engine.machine()
    assert engine.now() == 0.0, "the search could not end"


class TestInterruptibleEngine(WrapperContract):
    @classmethod
    def wrap(cls, engine: Engine) -> Engine:
        return interruptible(engine, lambda _: None, [])
