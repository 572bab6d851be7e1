"""The Python call, and the machine that it takes where it is given no engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
from optuna.storages import InMemoryStorage

from autotune import autotune
from autotune.errors import OutputError, UsageError
from autotune.events import Notice
from autotune.run.load import unseen
from autotune.search.host import Host
from autotune.testing import FakeEngine

CALL = ("mine.py:model_fn", "mine.py:dataset_fn")
SHORT = {"budget": None, "max_trials": 2, "space": {"strategies": ["one_device"], "axes": {}}}


@pytest.fixture(autouse=True)
def waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine that takes no time; the names of the searches that waited for it."""
    waited: list[str] = []

    @contextmanager
    def exclusive(what: str, tell: Callable[[str], None]) -> Iterator[None]:
        waited.append(what)
        tell("waiting")
        yield

    host = Host(measurements=tmp_path / "measurements.db", look=unseen)
    monkeypatch.setattr("autotune.tuning.exclusive", exclusive)
    monkeypatch.setattr("autotune.tuning.LocalEngine", lambda: FakeEngine(lambda _: 100.0))
    monkeypatch.setattr("autotune.tuning.this_host", lambda: host)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def model_fn(): ...\ndef dataset_fn(): ...\n")
    return waited


def test_a_search_of_its_own_waits_and_is_kept(waited: list[str], tmp_path: Path) -> None:
    """The observer is told of the wait."""
    events: list[object] = []
    autotune(*CALL, **SHORT, observer=events.append)
    assert waited == ["mine:model_fn"]
    assert events[0] == Notice(text="waiting")
    assert (tmp_path / "measurements.db").exists()


def test_an_engine_of_the_callers_is_theirs(waited: list[str], tmp_path: Path) -> None:
    """Nobody waits, nothing is kept, and the engine stays open."""
    engine = FakeEngine(lambda _: 100.0)
    autotune(*CALL, **SHORT, engine=engine)
    assert waited == []
    assert not engine.closed
    assert not (tmp_path / "measurements.db").exists()


def test_what_is_wrong_is_told_without_a_wait(waited: list[str]) -> None:
    """It is clear from the call alone."""
    with pytest.raises(OutputError):
        autotune(*CALL, **SHORT, out="mine.py/out")
    assert waited == []


def test_an_optuna_storage_keeps_the_study() -> None:
    """As `optuna.create_study` takes one; no database is written."""
    storage = InMemoryStorage()
    result = autotune(*CALL, **SHORT, storage=storage, out="out")
    kept = optuna.load_study(study_name=result.study, storage=storage).trials
    assert [each.user_attrs["outcome"] for each in kept] == [str(t.outcome) for t in result.trials]
    assert not Path("out/study.db").exists()


def test_what_is_no_storage_is_refused(waited: list[str]) -> None:
    """The error says what it may be."""
    with pytest.raises(UsageError, match=r"storage.*URL or an Optuna storage"):
        autotune(*CALL, **SHORT, storage=Path("study.db"))  # type: ignore[arg-type]
    assert waited == []
