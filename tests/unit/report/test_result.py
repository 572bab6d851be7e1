"""The result, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from autotune.reason import Message, Outcome
from autotune.report import result_text
from autotune.report.html.page import page
from autotune.result import Result
from autotune.result.files import written
from autotune.result.verdict import Explored
from autotune.space.origin import Origin
from autotune.trial import Trial
from autotune.workload import FitFacts

Draw = Callable[..., str]
Changed = Callable[..., Result]
MakeTrial = Callable[..., Trial]


@pytest.fixture
def folder(result: Result, tmp_path: Path) -> Path:
    """A folder with the files of a result."""
    (tmp_path / "study.db").touch()
    return result.save(tmp_path)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_nothing_is_wider_than_the_terminal(result: Result, draw: Draw, width: int) -> None:
    """Every line fits."""
    text = draw(result_text(result, Path("autotune-out")), width)
    assert max(map(len, text.splitlines())) <= width


def test_the_verdict_comes_first(result: Result, draw: Draw) -> None:
    """The first thing to read is the answer."""
    assert draw(result_text(result, Path("out"))).startswith("Distribute: MirroredStrategy")


def test_the_recommended_configuration_is_marked(result: Result, draw: Draw) -> None:
    """Its row has rate, ratio with interval, and the mark."""
    text = draw(result_text(result, Path("out")), 160)
    row = next(line for line in text.splitlines() if "recommended" in line)
    assert row.rstrip().endswith("Mirrored x2, batch 2x64, reduction one_device")
    assert "±" in row
    assert "1.42 (" in row


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_has_the_configurations_below_their_figures(
    result: Result, draw: Draw, width: int
) -> None:
    """No configuration is squeezed into a few columns or cut off."""
    lines = [line.rstrip() for line in draw(result_text(result, Path("out")), width).splitlines()]
    figures = next(i for i, line in enumerate(lines) if line.startswith("recommended"))
    assert lines[figures + 1] == "  Mirrored x2, batch 2x64, reduction one_device"


def test_what_the_table_shows_is_not_told_again(result: Result, draw: Draw) -> None:
    """The best that was explored of each strategy stands in the table, not among the grounds."""
    explored = (Explored(configuration=result.config, share=1.5),)
    grounds = result.grounds.model_copy(update={"explored": explored})
    found = result.model_copy(update={"grounds": grounds})
    assert any("During exploration" in each for each in found.reasons)
    text = draw(result_text(found, Path("out")))
    assert "Run-to-run variation" in text
    assert "During exploration" not in text


def test_every_strategy_that_ran_has_a_row(
    result: Result, changed: Changed, make_trial: MakeTrial, draw: Draw
) -> None:
    """One that was slow is not crowded out by many settings of a fast one."""
    gang = result.trials[2].configuration
    fast = [make_trial(20 + n, result.config.but(prefetch=n + 1)) for n in range(9)]
    slow = make_trial(40, gang, examples_per_second=10.0)
    text = draw(result_text(changed(trials=(*fast, slow)), Path("out")), 160)
    assert "MultiWorkerMirrored x2" in text


def test_what_is_recommended_has_a_row(
    result: Result, changed: Changed, make_trial: MakeTrial, draw: Draw
) -> None:
    """Also where it was only explored, behind many that are faster at a batch that may not pay."""
    fast = [make_trial(20 + n, result.config.but(prefetch=n + 1)) for n in range(9)]
    chosen = make_trial(40, result.config, examples_per_second=10.0)
    text = draw(result_text(changed(trials=(*fast, chosen)), Path("out")), 160)
    assert any(line.startswith("recommended") for line in text.splitlines())


def test_what_trains_wrongly_is_not_called_measured(
    result: Result, changed: Changed, make_trial: MakeTrial, draw: Draw
) -> None:
    """A configuration that was fast and failed a check carries that outcome."""
    other = result.config.but(per_replica_batch=512)
    bad = make_trial(
        9,
        other,
        outcome=Outcome.REJECTED,
        examples_per_second=None,
        reason=Message(text="It drifts."),
    )
    trials = (*result.trials, make_trial(8, other), bad)
    text = draw(result_text(changed(trials=trials), Path("out")), 160)
    assert next(line for line in text.splitlines() if "2x512" in line).startswith("rejected")


def test_a_command_is_never_broken(result: Result, tmp_path: Path) -> None:
    """However narrow the terminal: a line break inside would be pasted into the shell."""
    folder, text = result.save(tmp_path / ("long" * 20)), StringIO()
    Console(file=text, width=60).print(result_text(result, folder), crop=False)
    assert f"python {folder}/train.py  # 1 epoch; or --epochs N\n" in text.getvalue()


def test_failures_have_a_table_and_are_not_told_twice(result: Result, draw: Draw) -> None:
    """The reason of a failure stands in its table, and no longer among the grounds."""
    text = draw(result_text(result, Path("out")), 160)
    assert text.count("worker 1 was killed by SIGSEGV") == 1
    assert "   2  crashed  MultiWorkerMirrored x2" in text
    assert " - Run-to-run variation" in text


def test_failures_of_one_cause_share_a_row(
    changed: Changed, make_trial: MakeTrial, draw: Draw
) -> None:
    """A cause that repeats is told once, with the numbers of all its trials."""
    bad = {
        "outcome": Outcome.HUNG,
        "reason": Message(text="no step for 60 s"),
        "examples_per_second": None,
    }
    trials = tuple(make_trial(number, **bad) for number in (10, 11, 12))
    text = draw(result_text(changed(trials=trials), Path("out")), 160)
    assert text.count("no step for 60 s") == 1
    assert "(and trials 11, 12)" in text


def test_the_files_and_the_next_commands_are_named(
    result: Result, folder: Path, draw: Draw
) -> None:
    """What was written is listed, and how to train with it."""
    text = draw(result_text(result, folder), 300)
    assert all(name in text for name in ("config.yaml", "train.py", "trials.csv", "trials.jsonl"))
    assert f"python {folder}/train.py  # 1 epoch; or --epochs N" in text
    assert f"optuna-dashboard sqlite:///{folder}/study.db" in text
    assert "launch.py" not in text
    assert "--resume" not in text


def test_a_gang_is_started_by_its_launcher(result: Result, tmp_path: Path, draw: Draw) -> None:
    """With several workers the command is launch.py."""
    gang = result.model_copy(update={"launch": "print('launched')\n"})
    text = draw(result_text(gang, gang.save(tmp_path)), 300)
    assert f"python {tmp_path}/launch.py  # 1 epoch; or --epochs N" in text
    fit = FitFacts(epochs=20)
    of_script = gang.model_copy(update={"facts": gang.facts.model_copy(update={"fit": fit})})
    assert "launch.py  # 20 epochs, as the script; or" in draw(
        result_text(of_script, tmp_path), 300
    )


def test_a_folder_with_spaces_is_quoted(result: Result, tmp_path: Path, draw: Draw) -> None:
    """The command can be pasted into a shell."""
    text = draw(result_text(result, result.save(tmp_path / "my out")), 300)
    assert f"python '{tmp_path}/my out/train.py'" in text


def test_an_interrupted_search_says_how_to_go_on(result: Result, draw: Draw) -> None:
    """The next command is the same with --resume."""
    text = draw(result_text(result.model_copy(update={"interrupted": True}), Path("out")))
    assert "run the same command with --resume" in text


def test_only_existing_files_are_named(result: Result, folder: Path) -> None:
    """A study in a database elsewhere is not claimed to lie in the folder."""
    (folder / "study.db").unlink()
    tables = {"result.json", "trials.csv", "trials.jsonl"}
    assert set(written(folder)) == {"config.yaml", "train.py", "report.html", *tables}
    assert result.launch is None


def test_plain_data_holds_all_figures_without_windows(result: Result) -> None:
    """All figures are there; what trials.jsonl holds in full is left out."""
    read = result.to_dict()
    assert read["verdict"] == "distribute"
    assert read["configuration"]["strategy"] == "mirrored"
    assert read["best_distributed_speedup"] == {"low": 1.21, "value": 1.42, "high": 1.66}
    assert len(read["trials"]) == len(result.trials)
    assert "windows" not in read["trials"][0]


def test_a_figure_that_json_cannot_hold_is_null(changed: Changed, make_trial: MakeTrial) -> None:
    """An infinite rate does not make the document invalid."""
    endless = changed(trials=(make_trial(0, error=float("inf")),))
    read = json.loads(json.dumps(endless.to_dict()), parse_constant=pytest.fail)
    assert read["trials"][0]["error"] is None


def test_a_row_tells_who_would_have_trained_so(result: Result, draw: Draw) -> None:
    """The script by its own strategy, and a fixed rule; the rest is the search's."""
    row = result.compared[0].model_copy(update={"origins": tuple(Origin)})
    marked = result.model_copy(update={"compared": (row, *result.compared[1:])})
    text = draw(result_text(marked, Path("out")), 160)
    assert text.count("(as the script by itself, as AutoStrategy would)") == 1
    assert "as the script by itself, as AutoStrategy would" in page(marked)
