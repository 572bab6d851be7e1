"""Engines by name, by URL and by import path, and an engine that a package adds."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from autotune.engine import resolve
from autotune.engine.load import Load
from autotune.engine.local import LocalEngine
from autotune.engine.lock import Holder, Notify, Wait
from autotune.engine.resolve import new_engine, reserved_engine, wait_for_quiet
from autotune.errors import EngineError, Interrupted, UsageError
from tests.engines.fake import FakeEngine
from tests.fleet import fleet_package


def test_new_engine_makes_the_local_one_by_default() -> None:
    """It starts nothing yet."""
    engine = new_engine()
    assert isinstance(engine, LocalEngine)
    assert engine.server is None
    engine.close()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("fleet", "none"),
        ("fleet://head:6379", "fleet://head:6379"),
        ("fleet_of_a_test:Fleet", "none"),
    ],
)
def test_new_engine_finds_what_a_package_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, url: str
) -> None:
    """By its name, by a URL that it is given, and without any entry point."""
    monkeypatch.syspath_prepend(fleet_package(tmp_path))
    engine = new_engine(text)
    assert isinstance(engine, FakeEngine)
    assert engine.machine().tensorflow == f"at {url}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("locl", r"Unknown engine 'locl'.*Did you mean local\?"),
        ("nosuch://x", r"Unknown engine 'nosuch'.*Available: local"),
        (
            "nosuch_module:Engine",
            r"engine 'nosuch_module:Engine' cannot be imported: .*ModuleNotFoundError",
        ),
        ("autotune.engine.resolve:GROUP", "is not callable"),
    ],
)
def test_new_engine_refuses_what_it_does_not_know(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        new_engine(text)


def test_reserved_engine_closes_its_own_though_the_wait_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing that it made stays behind."""
    made = FakeEngine(lambda _: 1.0)
    made.reserved = Mock(side_effect=Interrupted("a search"))
    monkeypatch.setattr("autotune.engine.resolve.new_engine", lambda _: made)
    with pytest.raises(Interrupted), reserved_engine("fake", "a search", print):
        pytest.fail("It was reserved.")
    assert made.closed


class Busy(FakeEngine):
    def __init__(self) -> None:
        super().__init__(lambda _: 1.0)

    def reserved(self, what: str, notify: Notify, *more: Any) -> Any:
        holder = Holder(pid=7, since=0, what="theirs", seconds=60)
        notify(Wait(holder=holder, until=1e9))
        return super().reserved(what, notify, *more)


def test_another_search_is_not_waited_for_if_that_is_not_wanted() -> None:
    """The error says who holds the machine, and until when at most."""
    told: list[object] = []
    with reserved_engine(Busy(), "mine", told.append):
        assert [type(each) for each in told] == [Wait]
    refused = pytest.raises(EngineError, match=r"process 7.*theirs.*, until .* at the latest\.")
    with refused, reserved_engine(Busy(), "mine", told.append, wait=False):
        pytest.fail("It was reserved.")


@pytest.mark.parametrize(("busy", "told"), [([1.5, 1.5, 0.0], 1), ([0.0], 0)])
def test_a_quiet_machine_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, busy: list[float], told: int
) -> None:
    """Until other programs have left the cores; what it waits for is told once."""
    monkeypatch.setattr(resolve, "QUIET_POLL_SECONDS", 0.001)
    loads = iter([None, *(Load(seconds=5, cores=2, busy=each, stolen=0) for each in busy)])
    said: list[object] = []
    wait_for_quiet(FakeEngine(lambda _: 1.0, load=lambda: next(loads)), 60.0, said.append)
    assert len(said) == told
    assert next(loads, "all looked at") == "all looked at"


def test_a_machine_that_stays_busy_is_waited_for_no_longer_than_asked() -> None:
    load = Load(seconds=5, cores=2, busy=1.5, stolen=0)
    wait_for_quiet(FakeEngine(lambda _: 1.0, load=lambda: load), 0.01, print)
