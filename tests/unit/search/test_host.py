"""What a search takes from its host beside the engine, and leaves there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from optuna.storages import BaseStorage

from autotune.events import Notice
from autotune.past.store import Past
from autotune.recommendation import Recommendation
from autotune.run.load import Look
from autotune.search.host import Host
from autotune.search.options import Options
from autotune.search.start import start_from
from autotune.search.tune import TuningRequest, tune
from autotune.testing import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from autotune.workload import Workload

from .conftest import SPACE, speed

On = Callable[..., tuple[Recommendation, list[str]]]
MACHINE = FAKE_MACHINE.fingerprint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The database of past measurements."""
    return tmp_path / "cache" / "measurements.db"


@pytest.fixture
def on(tmp_path: Path, workload: Workload, kept_in: BaseStorage) -> On:
    """Searches on a host, and returns what was found and what was told."""

    def run(
        host: Host, *, engine: FakeEngine | None = None, most: int = 4, **fields: Any
    ) -> tuple[Recommendation, list[str]]:
        events: list[object] = []
        request = TuningRequest(
            workload=workload,
            space=SPACE,
            options=Options(seconds=None, max_trials=most),
            **{"out": tmp_path / "out", "storage": kept_in, **fields},
        )
        result = tune(request, engine or FakeEngine(speed(), seed=1), events.append, host)
        return result, [event.text for event in events if isinstance(event, Notice)]

    return run


def test_a_search_is_kept_for_the_next_one(on: On, file: Path, workload: Workload) -> None:
    """Every speed that it saw, under the fingerprints of machine and workload."""
    result, told = on(Host(measurements=file))
    found = Past(file).measurements(MACHINE, workload.fingerprint(FAKE_FACTS))
    shown = [t.examples_per_second for t in result.trials if t.examples_per_second]
    assert [each.examples_per_second for each in found] == shown
    assert told == []


def test_the_next_search_starts_from_it(on: On, file: Path, workload: Workload) -> None:
    """Configurations relative to the best single device, and the machine's noise."""
    result, _ = on(Host(measurements=file), most=9)
    start = start_from(Past(file), MACHINE, workload.fingerprint(FAKE_FACTS))
    alone = {c: gap for c, gap in start.known.items() if not c.distributed}
    assert max(alone.values()) == 0
    assert set(start.known) == {t.configuration for t in result.trials if t.examples_per_second}
    assert start.noise
    measured = [trial.configuration for trial in result.trials if trial.measured]
    assert start.noise.degrees == len(measured) - len(set(measured))


def test_a_resumed_study_is_kept_once(on: On, file: Path, workload: Workload) -> None:
    """Only trials of its own belong to a session: those before were another day's."""
    first, _ = on(Host(measurements=file))
    second, _ = on(Host(measurements=file), most=6, resume=True)
    found = Past(file).measurements(MACHINE, workload.fingerprint(FAKE_FACTS))
    assert len(second.trials) > len(first.trials)
    assert len(found) == len([t for t in second.trials if t.examples_per_second])
    assert len({each.session for each in found}) == 2


class Edited(FakeEngine):
    """The user edits the factories while the search runs."""

    def __init__(self, code: Path) -> None:
        super().__init__(speed())
        self.code = code

    def now(self) -> float:
        """Edit, because it is asked for the time during every trial."""
        if self.requests:
            self.code.write_text("def model_fn(): return 1")
        return super().now()


def test_what_was_timed_is_what_is_kept(file: Path, tmp_path: Path, workload: Workload) -> None:
    """Code that was edited meanwhile is another workload."""
    code = tmp_path / "digits.py"
    code.write_text("def model_fn(): ...")
    model = workload.model.model_copy(update={"root": str(tmp_path)})
    mine = workload.model_copy(update={"model": model})
    before = mine.fingerprint(FAKE_FACTS)
    request = TuningRequest(
        workload=mine, space=SPACE, options=Options(seconds=None, max_trials=2), out=tmp_path / "o"
    )
    tune(request, Edited(code), host=Host(measurements=file))
    assert mine.fingerprint(FAKE_FACTS) != before
    assert Past(file).measurements(MACHINE, before)


def test_a_broken_store_costs_a_sentence(on: On, file: Path) -> None:
    """The search answers all the same."""
    file.parent.mkdir()
    file.write_bytes(b"this is no database" * 100)
    result, told = on(Host(measurements=file))
    assert result.config
    assert len(told) == 1
    assert str(file) in told[0]


def busy(*used: float) -> Callable[[], Look]:
    """Return the looks at a machine on which others use so many cores, ten seconds at a time."""
    total, looks = 0.0, [Look(at=0, cores=2, busy=0, stolen=0, own=0, others={})]
    for number, cores in enumerate(used, 1):
        total += 10 * cores
        looks.append(Look(at=10 * number, cores=2, busy=total, stolen=0, own=0, others={}))
    remaining = iter(looks)
    return lambda: next(remaining)


def test_a_busy_machine_is_told_before_the_search(on: On) -> None:
    """While it can still be made quiet."""
    result, told = on(Host(look=busy(1.3, 0.0)))
    assert [text for text in told if text.startswith("Other programs use 1.3 of 2 cores")]
    assert not any("During the search" in reason for reason in result.reasons)


def test_a_machine_that_was_busy_is_a_reason(on: On) -> None:
    """It stands among the grounds of the verdict."""
    result, told = on(Host(look=busy(0.0, 0.7)))
    assert told == []
    assert "other programs used 0.7 of 2 cores" in result.reasons[-1]


def test_a_search_on_a_fake_engine_leaves_nothing(on: On, tmp_path: Path) -> None:
    """By default there is no host at all."""
    on(Host())
    assert {each.name for each in tmp_path.iterdir()} == {"out"}
