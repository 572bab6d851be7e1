"""The study: readable by Optuna's tools, and a place to go on from."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path
from unittest.mock import Mock

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

from autotune.config import Configuration
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks import TrialRequest
from autotune.errors import OutputError, StudyMismatch, UsageError
from autotune.events import Notice
from autotune.reason import Message, Outcome
from autotune.search.parameters import RECORD
from autotune.search.resume import made_for, restore
from autotune.search.study import Study
from autotune.workload import Workload
from tests.engines.fake import FAKE_FACTS, FakeEngine

from .conftest import SPACE, Tuner, ended, speed

SHORT = {"budget": None, "max_trials": 3}


@pytest.fixture
def kept_in() -> None:
    """A file in the output folder, as users have it."""


class Wedged(FakeEngine):
    """Fails one trial of three; its clock is that of no machine."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        if len(self.requests) % 3 != 1:
            return super().run(request, watch)
        self.requests.append(request)
        reason = Message(text="It was told to.")
        return RunResult(outcome=Outcome.CRASHED, reason=reason, wall_seconds=4.0)


def test_every_trial_is_in_the_study_with_its_time(tuner: Tuner, tmp_path: Path) -> None:
    """Measured, pruned, failed or skipped: Optuna sees what it was, when it ran, and for how long.

    A search that is resumed keeps the trials and goes on.
    """
    began, url = time.time(), f"sqlite:///{tmp_path / 'out' / 'study.db'}"
    first = tuner(speed(), engine=Wedged(speed(distributed=0.2)), options={"max_trials": 5})
    between = optuna.load_study(study_name=first.study, storage=url).trials
    result = tuner(speed(distributed=0.2), options={"max_trials": 14}, resume=True)
    study = optuna.load_study(study_name=result.study, storage=url)
    assert {t.outcome for t in result.trials} >= {Outcome.MEASURED, Outcome.PRUNED, Outcome.CRASHED}
    assert study.trials[: len(between)] == between
    assert result.trials[: len(first.trials)] == first.trials
    assert len(result.trials) > len(first.trials)
    for kept, seen in zip(result.trials, study.trials, strict=True):
        assert seen.user_attrs["outcome"] == kept.outcome
        assert seen.params["per_replica_batch"] == kept.configuration.per_replica_batch
        assert (seen.state is TrialState.COMPLETE) == kept.measured
        assert abs(seen.duration.total_seconds() - kept.wall_seconds) < 0.001
        assert seen.datetime_complete.timestamp() == pytest.approx(kept.ended_at)
    assert study.best_value == max(t.examples_per_second or 0 for t in result.trials if t.measured)
    for session in (study.trials[: len(between)], study.trials[len(between) :]):
        ends = [each.datetime_complete.timestamp() for each in session if each.datetime_complete]
        assert began < ends[0]
        assert ends == sorted(ends)


def test_a_study_that_is_made_again_keeps_the_times(tuner: Tuner, tmp_path: Path) -> None:
    out = f"sqlite:///{tmp_path / 'out' / 'study.db'}"
    result = tuner(speed(), options={"budget": None, "max_trials": 3})
    elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    restore(elsewhere, "again", made_for(out, result.study), result.trials)
    times = [
        [(each.datetime_start, each.datetime_complete) for each in study.trials]
        for study in (
            optuna.load_study(study_name=result.study, storage=out),
            optuna.load_study(study_name="again", storage=elsewhere),
        )
    ]
    assert times[0] == times[1]


def test_a_new_search_leaves_the_old_study_alone(tuner: Tuner) -> None:
    names = [tuner(speed(), options={"budget": 15.0}).study for _ in range(3)]
    assert names == ["digits", "digits-2", "digits-3"]


@pytest.mark.parametrize(
    ("first", "then"),
    [({"examples": None}, {}), ({}, {"examples": 9_984, "uncertain": ("examples",)})],
)
def test_what_was_not_counted_in_time_is_no_other_workload(
    tuner: Tuner, first: dict[str, object], then: dict[str, object]
) -> None:
    """A look that its time limit has ended agrees with every other."""
    before = tuner(speed(), engine=_inspected(first), options=SHORT)
    after = tuner(speed(), engine=_inspected(then), resume=True, options=SHORT)
    assert after.study == before.study
    assert after.trials[: len(before.trials)] == before.trials


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"weights": 1}, "different workload"),
        ({"examples": 9_000}, "different number of examples"),
        ({"file_shards": 4}, "different number of input files"),
        ({}, "different space"),
    ],
)
def test_a_study_of_something_else_is_refused(
    tuner: Tuner, other: dict[str, object], told: str
) -> None:
    first = tuner(speed(), engine=_inspected({"file_shards": 8}), options=SHORT)
    found = _inspected({"file_shards": 8, **other})
    space = SPACE if other else SPACE.model_copy(update={"axes": {"per_replica_batch": (64,)}})
    with pytest.raises(StudyMismatch, match=told):
        tuner(speed(), engine=found, resume=True, options=SHORT, space=space, study=first.study)


def _inspected(found: dict[str, object]) -> FakeEngine:
    return FakeEngine(speed(), facts=FAKE_FACTS.model_copy(update=found))


def test_a_value_that_only_a_later_inspection_allows_is_saved() -> None:
    """Optuna never lets a domain change; the trial is in the study all the same."""
    kept, told = optuna.create_study(storage=InMemoryStorage()), list[str]()
    batches = [Configuration(per_replica_batch=each) for each in (32, 64, 128)]
    for number, (pool, tried) in enumerate([(batches[:2], batches[0]), (batches, batches[2])]):
        study = Study(kept, pool, told.append)
        study.append(ended(number, tried))
        study.flush()
    assert [each.params for each in kept.trials] == [{"per_replica_batch": 32}, {}]
    assert told == []


def test_the_order_of_the_axes_is_no_other_space(tuner: Tuner) -> None:
    first = tuner(speed(), options=SHORT)
    axes = dict(reversed(SPACE.axes.items()))
    space = SPACE.model_copy(update={"axes": axes, "name": "renamed", "description": "mine"})
    assert tuner(speed(), space=space, resume=True, options=SHORT).study == first.study


def test_resume_without_a_study_is_an_error(tuner: Tuner) -> None:
    with pytest.raises(StudyMismatch, match="holds none"):
        tuner(speed(), resume=True)


def test_a_name_that_is_taken_is_an_error(tuner: Tuner) -> None:
    tuner(speed(), options={"budget": 15.0}, study="mine")
    with pytest.raises(StudyMismatch, match="resume=True"):
        tuner(speed(), options={"budget": 15.0}, study="mine")


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "", "two words", "n" * 101])
def test_a_study_must_have_a_plain_name(tuner: Tuner, tmp_path: Path, name: str) -> None:
    """It names a folder too; nothing is written before it is refused."""
    with pytest.raises(UsageError, match="not a valid study name"):
        tuner(speed(), study=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("factory", "study"),
    [("main.<locals>.<lambda>", "main-locals-lambda"), ("package.part:make", "package.part")],
)
def test_a_study_without_a_name_gets_a_plain_one(
    tuner: Tuner, workload: Workload, factory: str, study: str
) -> None:
    module, _, name = factory.rpartition(":")
    model = workload.model.model_copy(update={"module": module, "name": name})
    given = workload.model_copy(update={"model": model})
    assert tuner(speed(), options=SHORT, workload=given).study == study


def test_resume_takes_the_highest_number(tuner: Tuner) -> None:
    for name in ("digits", "digits-2", "digits-10", "digits-experiment"):
        tuner(speed(), options=SHORT, study=name)
    assert tuner(speed(), options=SHORT, resume=True).study == "digits-10"


def test_a_database_that_cannot_be_written_is_an_error(tuner: Tuner, tmp_path: Path) -> None:
    tuner(speed(), options=SHORT)
    url = f"sqlite:///file:{tmp_path / 'out' / 'study.db'}?mode=ro&uri=true"
    with pytest.raises(OutputError, match="readonly") as caught:
        tuner(speed(), storage=url)
    assert "another `storage`" in caught.value.next_step


def test_edited_factories_are_told(tuner: Tuner, workload: Workload, tmp_path: Path) -> None:
    code = tmp_path / "digits.py"
    code.write_text("def model_fn(): ...")
    model = workload.model.model_copy(update={"root": str(tmp_path)})
    given = workload.model_copy(update={"model": model})
    tuner(speed(), options=SHORT, workload=given)
    code.write_text("def model_fn(): return 1")
    with pytest.raises(StudyMismatch, match="its code") as caught:
        tuner(speed(), options=SHORT, workload=given, resume=True)
    assert "Omit `resume=True`" in caught.value.next_step


class Interleaved(FakeEngine):
    """Begins another search in the same folder while its first trial runs."""

    def __init__(self, tuner: Tuner) -> None:
        super().__init__(speed())
        self.other = lambda: tuner(speed(), options=SHORT, resume=True)
        self.refused: UsageError | None = None

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        if not self.requests:
            with pytest.raises(UsageError) as caught:
                self.other()
            self.refused = caught.value
        return super().run(request, watch)


def test_two_searches_never_share_a_folder(tuner: Tuner) -> None:
    """Nor a study; the lock falls with the first one."""
    engine = Interleaved(tuner)
    first = tuner(speed(), engine=engine, options=SHORT)
    assert "Another search runs in" in engine.refused.cause
    assert tuner(speed(), options=SHORT, resume=True).trials[: len(first.trials)] == first.trials


def test_a_name_taken_in_the_last_moment_is_left(
    tuner: Tuner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two searches that begin together both find the first name free."""
    tuner(speed(), options=SHORT)
    monkeypatch.setattr(optuna, "get_all_study_names", lambda _: [])
    assert tuner(speed(), options=SHORT).study == "digits-2"


class Storage:
    """Stands for the database: slow until it is let go, broken while it is told to be."""

    study_name, direction = "fake", "maximize"

    def __init__(self) -> None:
        self.trials: list[FrozenTrial] = []
        self.free = threading.Event()
        self.error: Exception | None = None

    def add_trial(self, trial: FrozenTrial) -> None:
        assert self.free.wait(10)
        if self.error:
            raise self.error
        self.trials.append(trial)

    @property
    def numbers(self) -> list[int]:
        return [trial.user_attrs[RECORD]["number"] for trial in self.trials]


@pytest.fixture
def storage() -> Iterator[Storage]:
    fake = Storage()
    yield fake
    fake.free.set()


def test_ctrl_c_while_saving_loses_nothing(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(storage, [], print)
    study.append(ended(0, Configuration()))
    study.append(ended(1, Configuration()))
    with monkeypatch.context() as patch:
        patch.setattr(study._saving, "exception", lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            study.flush()
    storage.free.set()
    study.flush()
    assert [trial.number for trial in study.trials] == storage.numbers == [0, 1]


def test_what_could_not_be_saved_is_saved_later(storage: Storage) -> None:
    told: list[str] = []
    study = Study(storage, [], told.append)
    storage.free.set()
    storage.error = StorageInternalError("database is locked")
    for number in range(4):
        study.append(ended(number, Configuration()))
        wait([study._saving], timeout=10)
    storage.error = None
    study.append(ended(4, Configuration()))
    study.flush()
    assert storage.numbers == [0, 1, 2, 3, 4]
    assert told == ["A trial could not be saved (database is locked); retrying."]


def test_a_slow_database_holds_no_trial_up(storage: Storage) -> None:
    study = Study(storage, [], print)
    for number in range(3):
        study.append(ended(number, Configuration()))
    assert (len(study.trials), storage.numbers) == (3, [])
    storage.free.set()
    study.flush()
    assert storage.numbers == [0, 1, 2]


def test_a_search_that_cannot_save_still_answers(
    tuner: Tuner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = StorageInternalError("database or disk is full")
    monkeypatch.setattr(Study, "_save", Mock(side_effect=full))
    events: list[object] = []
    result = tuner(speed(), options=SHORT, observer=events.append)
    out = tmp_path / "out"
    lines = (out / "trials.jsonl").read_text().splitlines()
    assert len([json.loads(each) for each in lines]) == len(result.trials) >= 3
    assert (out / "config.yaml").exists()
    *_, last = (each.text for each in events if isinstance(each, Notice))
    assert "disk is full" in last
    assert "a resumed search will lack them" in last
