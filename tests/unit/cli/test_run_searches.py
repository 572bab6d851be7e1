"""`autotune run train.py` on the fake engine: what it trains with, and when it searches."""

import json
import os
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from autotune.config import Configuration
from autotune.errors import EngineError, NothingMeasured, OutputError, ScriptFailed
from tests.engines.fake import FakeEngine

from .conftest import Result, run

SEARCH = ("--space", "quick", "--max-trials", "5", "--objective", "max_throughput")
DELIVERED = [sys.executable, "autotune-out/train.py"]
BY_ITSELF = [sys.executable, "train.py", "--units", "8"]
Became = list[list[str]]


@pytest.fixture(autouse=True)
def _script(folder: Path) -> None:
    (folder / "layers.py").write_text("UNITS = 8\n")
    (folder / "train.py").write_text("import layers\nmodel.fit(x, y)\n")


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> Became:
    """The commands that the process went on as."""
    commands: Became = []
    monkeypatch.setattr(os, "execvpe", lambda _, command, __: commands.append(command))
    return commands


def trained(*options: str, behind: tuple[str, ...] = ("--units", "8")) -> Result:
    return run("run", *SEARCH, *options, "train.py", *behind)


def test_it_searches_and_then_trains_with_what_was_found(
    engine: FakeEngine, became: Became
) -> None:
    """What stands behind the script is the script's, and nothing but that is on stdout."""
    done = trained(behind=("--units", "8", "--budget", "9s", "-h"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "Settings: one device, batch" in done.stderr
    assert became == [DELIVERED]
    program = Path("autotune-out/train.py").read_text()
    assert '["--units", "8", "--budget", "9s", "-h"]' in program
    assert engine.requests


def test_two_dashes_behind_the_script_are_those_of_tune(became: Became) -> None:
    trained(behind=("--", "--units", "8"))
    assert became == [DELIVERED]
    assert '["--units", "8"]' in Path("autotune-out/train.py").read_text()


def test_arguments_behind_two_functions_are_those_of_the_program(became: Became) -> None:
    run("run", *SEARCH, "mine.py:model_fn", "mine.py:dataset_fn", "--epochs", "20")
    assert became == [[*DELIVERED, "--epochs", "20"]]


def test_the_second_run_trains_at_once(engine: FakeEngine, became: Became) -> None:
    """However long that search was; the result of `autotune tune` is as good."""
    run("tune", *SEARCH, "train.py", "--", "--units", "8")
    ran = len(engine.requests)
    done = trained("--max-trials", "9")
    assert (len(engine.requests), became) == (ran, [DELIVERED])
    assert "Training with the result of " in done.stderr
    assert "--again searches anew" in done.stderr
    trained("--again")
    assert len(engine.requests) > ran


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ("train.py", "of another program"),
        ("layers.py", "of another program"),
        ("arguments", "of another program"),
        ("options", "of another set of bounds"),
        ("machine", "of another machine"),
    ],
)
def test_a_result_of_something_else_is_searched_anew(
    engine: FakeEngine, became: Became, monkeypatch: pytest.MonkeyPatch, changed: str, told: str
) -> None:
    trained()
    ran = len(engine.requests)
    if changed.endswith(".py"):
        with Path(changed).open("a") as file:
            file.write("print()\n")
    if changed == "machine":
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    done = trained(
        *(("--global-batch", "64") if changed == "options" else ()),
        behind=("--units", "9") if changed == "arguments" else ("--units", "8"),
    )
    assert told in done.stderr
    assert len(engine.requests) > ran
    assert len(became) == 2


def test_a_comment_in_the_script_changes_nothing(engine: FakeEngine, became: Became) -> None:
    trained()
    ran = len(engine.requests)
    Path("train.py").write_text("# Mine.\nimport layers\nmodel.fit(x, y)\n")
    trained()
    assert (len(engine.requests), became) == (ran, [DELIVERED] * 2)


def test_checkpoints_of_an_earlier_program_are_renamed(became: Became) -> None:
    """They would be gone on with, if the model is the same."""
    trained()
    kept = Path("autotune-out/checkpoints/epoch-3.weights.h5")
    kept.parent.mkdir()
    kept.touch()
    trained()
    assert kept.exists()
    trained(behind=("--units", "9"))
    assert not kept.parent.exists()
    assert [*Path("autotune-out").glob("earlier-checkpoints-*/*.h5")]
    assert len(became) == 3


def test_where_nothing_is_faster_the_script_trains_by_itself(
    engine: FakeEngine, became: Became
) -> None:
    """Now, and at the next call; all four settings of the own batch have a trial."""
    engine._speed = lambda configuration: 1000 if configuration == Configuration() else 100
    few = ("--strategies", "one_device", "--global-batch", "32")
    assert trained(*few).exit_code == 0
    ran = len(engine.requests)
    done = trained(*few)
    assert became == [BY_ITSELF] * 2
    assert (len(engine.requests), done.stdout) == (ran, "")


@pytest.mark.parametrize(
    "error", [ScriptFailed, NothingMeasured, EngineError], ids=lambda each: each.__name__
)
def test_a_script_that_cannot_be_searched_trains_by_itself(
    monkeypatch: pytest.MonkeyPatch, became: Became, error: type[Exception]
) -> None:
    """The reason is told, with the next step."""
    failed = error("It uses a backend of its own.", "Use another.")
    monkeypatch.setattr("autotune.search.tune.tune", Mock(side_effect=failed))
    done = trained()
    assert (done.exit_code, done.stdout, became) == (0, "", [BY_ITSELF])
    told = ["Not searched: It uses a backend of its own.", "Use another."]
    assert [each for each in done.stderr.splitlines() if each in told] == told


def test_what_is_seen_in_its_text_is_told_before_anything_runs(
    engine: FakeEngine, became: Became
) -> None:
    Path("train.py").write_text("import torch\nprint(torch)\n")
    done = trained()
    assert "Not searched: train.py trains with torch, and not with Keras." in done.stderr
    assert (became, engine.requests) == ([BY_ITSELF], [])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("nowhere.py",), "nowhere.py not found"),
        (("broken.py",), "cannot be read as Python"),
        (("--nosuch", "train.py"), "autotune run train.py --epochs 3"),
        (("--budget", "soon", "train.py"), "soon"),
        (("--fit", "line 9", "train.py"), "no call of fit"),
        (("mine.py:model_fn",), "needs one dataset function"),
    ],
)
def test_a_wrong_call_trains_nothing(became: Became, call: tuple[str, ...], told: str) -> None:
    Path("broken.py").write_text("model.fit(")
    done = run("run", *call)
    assert (done.exit_code, done.stdout, became) == (2, "", [])
    assert told in done.stderr


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (NothingMeasured, ("mine.py:model_fn", "mine.py:dataset_fn")),
        (EngineError, ("--no-wait", "train.py")),
    ],
    ids=["no script that could train", "another search runs"],
)
def test_a_search_that_fails_trains_nothing(
    monkeypatch: pytest.MonkeyPatch, became: Became, error: type[Exception], call: tuple[str, ...]
) -> None:
    monkeypatch.setattr("autotune.search.tune.tune", Mock(side_effect=error("It failed.")))
    assert (run("run", *call).exit_code, became) == (3, [])


def test_ctrl_c_keeps_what_was_found_and_the_same_command_goes_on(
    engine: FakeEngine, became: Became
) -> None:
    truth = engine._speed

    def interrupted(configuration: Configuration) -> object:
        if len(engine.requests) == 3:
            raise KeyboardInterrupt
        return truth(configuration)

    engine._speed = interrupted
    done = trained()
    assert (done.exit_code, became) == (130, [])
    assert "The same command goes on with the search" in done.stderr
    engine._speed = truth
    done = trained()
    assert "Resuming after 3 trials" in done.stderr or "Resuming after 2 trials" in done.stderr
    assert became == [DELIVERED]


def test_a_search_that_was_killed_is_gone_on_with(became: Became) -> None:
    """Its study is all that it has left."""
    trained()
    for name in ("result.json", "train.py"):
        Path("autotune-out", name).unlink()
    assert "Resuming after" in trained().stderr
    assert len(became) == 2


def test_a_study_of_something_else_is_left_alone(became: Became) -> None:
    """As where the data have grown meanwhile, which no text shows."""
    trained()
    Path("autotune-out/result.json").unlink()
    assert trained(behind=("--units", "9")).exit_code == 0
    assert became == [DELIVERED] * 2


def test_the_command_can_be_shown_alone(became: Became) -> None:
    done = trained("--print")
    assert (done.stdout, became) == (f"{' '.join(DELIVERED)}\n", [])


def test_a_program_that_was_not_saved_is_no_reason_not_to_train(
    became: Became, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(28, "No space left on device")
    monkeypatch.setattr("autotune.search.tune.put_each", lambda *_: {"train.py": full})
    assert trained().exit_code == 0
    assert became == [BY_ITSELF]
    done = run("run", *SEARCH, "mine.py:model_fn", "mine.py:dataset_fn")
    assert done.exit_code == OutputError.exit_code


def test_keys_of_tune_alone_in_the_settings_file_do_not_matter(
    folder: Path, became: Became
) -> None:
    """Those that both have count; what neither has is told."""
    (folder / "pyproject.toml").write_text("[tool.autotune]\njson = true\nout = 'mine'\n")
    assert trained().exit_code == 0
    assert became == [[sys.executable, "mine/train.py"]]
    assert json.loads(Path("mine/result.json").read_text())["made_for"]
    (folder / "pyproject.toml").write_text("[tool.autotune]\nagain = true\n")
    assert "unknown key 'again'" in trained().stderr
