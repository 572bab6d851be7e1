"""An attempt at a job: the order for its process, keeping its lease, and hearing its process."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import IntegrityError

from autotune.api.settings import Code, Patience
from autotune.api.store import attempts
from autotune.api.values import ClaimedJob, LeaseToken
from autotune.api.work.attempt import LAST_SECONDS, EndCause, Lease, Supervision, _read
from autotune.api.work.child import GaveUp, SearchOrder
from autotune.config import Configuration
from autotune.events import Notice
from autotune.space import Space
from autotune.wire.errors import DatabaseUnavailable, Superseded
from autotune.wire.jobs import Program, State
from tests.trials import ended_trial

Order = Callable[..., SearchOrder]


def test_the_order_holds_what_the_operator_registered(order_after: Order, tmp_path: Path) -> None:
    made = order_after()
    assert made.model == "examples/digits.py:model_fn"
    assert (made.model_arguments, made.dataset_arguments) == ({"filters": 32}, {"colour": "grey"})
    assert made.out == tmp_path / "jobs" / made.name.removeprefix("job ") / "1"
    assert made.options.budget == 180


def test_an_axis_is_no_fixed_argument(order_after: Order) -> None:
    """Of a registered workload or of uploaded code, whichever of the two functions takes it."""
    axes = {"filters": (8, 16), "colour": ("grey", "red")}
    asked = {"space": Space(strategies=("one_device",), axes=axes), "params": {"filters": 8}}
    registered = order_after(asked)
    assert (registered.model_arguments, registered.dataset_arguments) == ({}, {})
    pair = {"model": "a.py:f", "dataset": "a.py:g", "dataset_params": {"colour": "red", "n": 1}}
    asked |= {"program": Program(digest="0" * 64, **pair), "params": {"filters": 8, "depth": 3}}
    uploaded = order_after(asked)
    assert (uploaded.model_arguments, uploaded.dataset_arguments) == ({"depth": 3}, {"n": 1})
    assert uploaded.code == uploaded.out / "code"


@pytest.mark.parametrize(("used", "left"), [(100.0, 80.0), (175.0, LAST_SECONDS), (999.0, 15.0)])
def test_what_earlier_attempts_used_is_gone(order_after: Order, used: float, left: float) -> None:
    assert order_after(used_seconds=used).options.budget == left


def test_a_configuration_is_set_aside_after_its_second_death(order_after: Order) -> None:
    once, twice = Configuration(), Configuration(per_replica_batch=64)
    assert order_after(killers=(twice, once, twice)).excluded == (twice,)


def test_a_study_without_trials_begins_anew(order_after: Callable[..., SearchOrder]) -> None:
    """It may be of another machine, or of other code, whose trials would be kept."""
    kept = (ended_trial(),)
    assert order_after(study="{}").study is None
    assert order_after(study="{}", kept=kept).study == "{}"


TOKEN = LeaseToken(job_id="j", attempt=1, devices="d", worker="w")
CLAIMED = ClaimedJob.model_construct(token=TOKEN)


class Fake:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.calls: list[str] = []
        self.down = False
        monkeypatch.setattr(attempts, "renew", lambda *_: self.answer("renew"))
        monkeypatch.setattr(attempts, "status", lambda *_: self.answer("look"))
        patience = Patience(lease=30, renewal=5, poll=1)
        self.lease = Lease(None, CLAIMED, patience, clock=lambda: self.now)

    def answer(self, what: str) -> State:
        self.calls.append(what)
        if self.down:
            raise DatabaseUnavailable("Down.")
        return State.CANCELLING

    def keep(self, now: float) -> State:
        self.now = now
        return self.lease.keep()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


def test_it_looks_often_and_renews_sometimes(fake: Fake) -> None:
    assert fake.keep(0.5) is State.RUNNING
    assert fake.keep(1.5) is State.CANCELLING
    fake.keep(2.0)
    fake.keep(5.0)
    assert fake.calls == ["look", "renew"]


def test_it_bears_a_database_that_is_down_for_a_while(fake: Fake) -> None:
    fake.down = True
    assert fake.keep(6) is State.RUNNING
    fake.down = False
    assert fake.keep(15) is State.CANCELLING


def test_it_gives_up_before_others_may_begin(fake: Fake) -> None:
    fake.down = True
    with pytest.raises(Superseded):
        fake.keep(20.5)


def test_it_gives_up_at_once_when_it_wakes_too_late(fake: Fake) -> None:
    with pytest.raises(Superseded):
        fake.keep(100)
    assert fake.calls == []


class Talker:
    """A process that says the same twice, as no search does."""

    ended, order = None, SimpleNamespace(options=SimpleNamespace(budget=60.0), code=None)

    def listen(self, _: float) -> list[Notice]:
        return [Notice(text="said"), Notice(text="again")]

    def use(self) -> None:
        return None


def test_what_no_database_takes_ends_a_search_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program may have written it: its job fails, and nobody waits for its lease."""

    def record(*_: object) -> None:
        raise IntegrityError("INSERT", {}, ValueError("the number is known"))

    monkeypatch.setattr(attempts, "record", record)
    lease = Lease(None, CLAIMED, Patience(lease=30, renewal=5, poll=1), clock=lambda: 0.0)
    supervision = Supervision(lease, Talker(), Code(), lambda: False)
    assert supervision.follow() is EndCause.ANSWERED
    assert "written into" in supervision.final.reason


@pytest.mark.parametrize("line", [b"", b"odd", b"{}", b'{"kind": "found"}', b"[" * 100_000])
def test_an_odd_line_of_a_search_ends_it_with_a_reason(line: bytes) -> None:
    (found,) = _read([line, b"never read"])
    assert isinstance(found, GaveUp)
    assert "written into" in found.reason


def test_a_line_without_an_end_ends_it_too() -> None:
    assert not [*_read([])]
    assert len([*_read([], endless=True)]) == 1
