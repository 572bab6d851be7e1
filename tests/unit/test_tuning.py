"""The Python call, and the machine that it takes where it is given no engine."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.storages import InMemoryStorage

import autotune
from autotune import Plan, SearchOptions, Tuner
from autotune.engine.lock import Notify
from autotune.errors import OutputError, UsageError
from autotune.events import Notice
from tests.engines.fake import FakeEngine

CALL = ("mine.py:model_fn", "mine.py:dataset_fn")
ONE = {"strategies": ["one_device"], "axes": {}}
SHORT = {"options": SearchOptions(budget=None, max_trials=2), "space": ONE}


class Own(FakeEngine):
    """The machine's own engine, on which somebody else is timing."""

    def __init__(self) -> None:
        super().__init__(lambda _: 100.0)

    def reserved(self, what: str, notify: Notify, *more: Any) -> Any:
        notify("waiting")
        return super().reserved(what, notify, *more)


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Own]:
    """A machine that takes no time; the engines that were made for it."""
    made: list[Own] = []

    def new_engine(_: str) -> Own:
        made.append(Own())
        return made[-1]

    monkeypatch.setattr("autotune.engine.resolve.new_engine", new_engine)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def model_fn(): ...\ndef dataset_fn(): ...\n")
    return made


def test_a_search_of_its_own_waits(own: list[Own]) -> None:
    """The observer is told of the wait, and the engine is closed; a caller's own stays open."""
    events: list[object] = []
    Tuner(observer=events.append).tune(*CALL, **SHORT)
    assert [each.reservations for each in own] == [["mine:model_fn"]]
    assert events[0] == Notice(text="waiting")
    assert own[0].closed
    engine = FakeEngine(lambda _: 100.0)
    autotune.tune(*CALL, **SHORT, engine=engine)
    assert engine.reservations == ["mine:model_fn"]
    assert not engine.closed
    assert len(own) == 1


class Model:
    __module__ = "keras.src.models.model"

    def __call__(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("call", "more", "words"),
    [
        ((3, 4), {}, "model_fn is an int, not a function"),
        ((Model(), CALL[1]), {}, "model_fn is a Model, not a function"),
        ((CALL[0], [1]), {}, "dataset_fn is a list, not a function"),
        (CALL, {"callbacks_fn": ()}, "callbacks_fn is a tuple, not a function"),
        (("mine.py:model_fun", CALL[1]), {}, "mine.py has no 'model_fun'.*mean model_fn"),
        ((CALL[0], "mine:data_fn"), {}, "mine.py has no 'data_fn'"),
        (CALL, {"callbacks_fn": "mine.py:callback_fn"}, "mine.py has no 'callback_fn'"),
        (("wrong.py:model_fn", CALL[1]), {}, "wrong.py cannot be imported: SyntaxError.*line 2"),
        (CALL, {"model_args": {"filtres": 3}}, "no parameter 'filtres'.*mean filters"),
        (CALL, {"dataset_args": {"rows": 3}}, "no parameter 'rows'"),
        (CALL, {"dataset_args": {"batch_size": 3}}, "`dataset_args` cannot set 'batch_size'"),
        (CALL, {"space": "nosuch"}, "Unknown space 'nosuch'"),
        (CALL, {"space": {**ONE, "axes": {"prefetsh": [2]}}}, "axis 'prefetsh'.*mean prefetch"),
        (("loop.py",), {}, r"line 3 \(train_on_batch\)"),
        (CALL, {"space": {"strategies": ["mirored"]}}, "'mirored'.*mean mirrored"),
        (CALL, {"objective": "fastest"}, "Unknown objective 'fastest'"),
    ],
)
def test_what_the_text_tells_is_told_without_a_wait(
    own: list[Own], tmp_path: Path, call: tuple[object, ...], more: dict[str, object], words: str
) -> None:
    """Before the machine is asked for, and TensorFlow imported; a plan tells it as well."""
    (tmp_path / "mine.py").write_text("def model_fn(filters=2): ...\ndef dataset_fn(): ...\n")
    (tmp_path / "wrong.py").write_text("def model_fn(): ...\ndef (:\n")
    (tmp_path / "loop.py").write_text("import keras\nwhile True:\n    m.train_on_batch(1)\n")
    with pytest.raises(UsageError, match=words):
        Tuner().tune(*call, **{**SHORT, **more})
    if "callbacks_fn" not in more:
        with pytest.raises(UsageError, match=words):
            Tuner().plan(*call, **{**SHORT, **more})
    assert own == []


@pytest.mark.parametrize(
    "text",
    [
        "def model_fn(**more): ...",
        "@decorated\ndef model_fn(): ...",
        "from other import *",
        "model_fn = functools.partial(make, 2)",
        "if True:\n    def model_fn(): ...",
        "try:\n    from fast import model_fn\nexcept ImportError:\n    from slow import model_fn",
        "def __getattr__(name): ...",
        "def fill():\n    global model_fn\n    model_fn = make",
    ],
)
def test_what_only_an_import_tells_is_left_to_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(f"{text}\ndef dataset_fn(): ...\n")
    assert Tuner().plan(*CALL, **SHORT, model_args={"filters": 3}).configurations


@pytest.mark.parametrize("url", ["mysql://nope/x", "nonsense", "sqlite:///nowhere/study.db"])
def test_what_cannot_be_written_is_told_without_a_wait(own: list[Own], url: str) -> None:
    """The storage's driver is missing, its folder, or all of it; or what is no storage is given."""
    with pytest.raises(OutputError, match="cannot be opened"):
        Tuner(storage=url).tune(*CALL, **SHORT)
    with pytest.raises(OutputError):
        autotune.tune(*CALL, **SHORT, out="mine.py/out")
    with pytest.raises(UsageError, match=r"storage.*URL or an Optuna storage"):
        Tuner(storage=Path("study.db")).tune(*CALL, **SHORT)
    assert own == []


def test_an_optuna_storage_keeps_the_study_which_is_resumed() -> None:
    """As `optuna.create_study` takes one; no database is written."""
    storage = InMemoryStorage()
    tuner = Tuner(storage=storage)
    first = tuner.tune(*CALL, **SHORT, out="out", study="mine")
    kept = optuna.load_study(study_name=first.study, storage=storage).trials
    assert [each.user_attrs["outcome"] for each in kept] == [str(t.outcome) for t in first.trials]
    assert not Path("out/study.db").exists()
    second = tuner.tune(*CALL, **SHORT, study="mine", resume=True)
    assert second.trials[: len(first.trials)] == first.trials


def test_options_may_be_named(own: list[Own]) -> None:
    """In every call, and they replace those that are handed over together."""
    options = SearchOptions(budget="5min", max_trials=9, seed=4)
    call = {"space": SHORT["space"], "options": options, "budget": "20s", "max_trials": 2}
    assert autotune.tune(*CALL, **call, sampler="random").options == SearchOptions(
        budget=20.0, max_trials=2, seed=4, sampler="random"
    )
    assert Tuner().plan(*CALL, space=ONE, budget="9s").budget_seconds == 9
    made = len(own)
    with pytest.raises(UsageError, match=r"no argument max_trial\..*mean max_trials"):
        autotune.tune(*CALL, max_trial=2)
    with pytest.raises(UsageError, match=r"no argument model_arg\..*mean model_args"):
        Tuner().plan(*CALL, model_arg={})
    assert len(own) == made


def test_arrays_may_be_passed_themselves(own: list[Own]) -> None:
    """Trials get a copy; what would be too large for that is told at once."""
    x, y = np.arange(6.0), np.arange(6)
    result = autotune.tune(CALL[0], (x, y), **SHORT)
    found = pickle.loads(result.workload.dataset.pickled)()  # noqa: S301 - our own
    assert [each.tolist() for each in found] == [x.tolist(), y.tolist()]
    assert "arrays = ..." in result.script
    made = len(own)
    with pytest.raises(UsageError, match=r"76\.3 MiB.*Above 64 MiB, write a function"):
        autotune.tune(CALL[0], np.zeros(10**7))
    assert len(own) == made


def test_a_plain_call_tells_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, unless an observer is told instead."""
    autotune.tune(*CALL, **SHORT)
    told = capsys.readouterr()
    assert told.out == ""
    assert "waiting" in told.err
    assert "Calling model_fn" in told.err
    Tuner(observer=lambda _: None).tune(*CALL, **SHORT)
    assert capsys.readouterr().err == ""


def test_a_tuner_plans_a_search_without_running_it(own: list[Own], tmp_path: Path) -> None:
    """The plan is the one that the search has; nothing waits, nothing is written."""
    plan = Tuner().plan(*CALL, **SHORT)
    assert isinstance(plan, Plan)
    assert plan.configurations
    assert (own[0].reservations, own[0].requests, own[0].closed) == ([], [], True)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]
