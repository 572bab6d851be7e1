"""A plan and a result in a terminal, and a result below a notebook's cell."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from autotune.answer import Ended, Further, NotTaken, Verdict
from autotune.config import describe
from autotune.plan import AxisPlan, Plan
from autotune.reason import Message, Outcome
from autotune.result.files import written
from autotune.result.terminal import plan_text, result_text
from autotune.workload import Factory, FitCall, FitFacts
from tests.drawing import draw

from .conftest import ALONE, RESULT, changed, make_trial

OUT = Path("out")


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_verdict_comes_first_and_nothing_is_too_wide(width: int) -> None:
    """The first thing to read is the time; where a row has no room, its name stands below."""
    text = draw(result_text(RESULT, OUT, verbose=True), width)
    lines = [line.rstrip() for line in text.splitlines()]
    assert text.startswith("Training takes 40 min instead of 1 h,")
    assert max(map(len, lines)) <= width
    found = next(i for i, line in enumerate(lines) if line.startswith("recommended"))
    name = "  Mirrored x2, batch 2x64, reduction one_device"
    assert lines[found].endswith(name) if width == 160 else lines[found + 1] == name
    assert "±" in lines[found]
    assert "1.45 (" in lines[found]


def test_the_answer_takes_twelve_lines() -> None:
    """The time, the verdict, what changes from what to what, the commands; no more."""
    measured = changed(trials=tuple(each for each in RESULT.trials if each.measured))
    text = draw(result_text(measured, Path("autotune-out")), 80)
    lines = [line.split() for line in text.rstrip().splitlines()]
    assert len(lines) <= 12
    assert ["strategy", "one_device", "->", "mirrored"] in lines
    assert ["per_replica_batch", "128", "->", "64"] in lines
    assert "1.45" not in text, "the time says it"


def test_what_the_table_of_failures_shows_is_not_told_again() -> None:
    text = draw(result_text(RESULT, OUT, verbose=True), 160)
    assert " - Run-to-run variation" in text
    assert text.count("Worker 1 was killed by SIGSEGV.") == 1
    assert "   2  crashed  MultiWorkerMirrored x2" in text


@pytest.mark.parametrize("last", ["gang", "chosen"])
def test_every_strategy_and_what_is_recommended_has_a_row(last: str) -> None:
    """Slow ones are not crowded out by many settings of a fast one."""
    fast = [make_trial(20 + n, RESULT.config.but(prefetch=n + 1)) for n in range(9)]
    other = RESULT.trials[2].configuration if last == "gang" else RESULT.config
    slow = make_trial(40, other, examples_per_second=10.0)
    text = draw(result_text(changed(trials=(*fast, slow)), OUT, verbose=True), 160)
    assert ("MultiWorkerMirrored x2" if last == "gang" else "\nrecommended") in text


def test_what_others_are_compared_with_has_a_row() -> None:
    """Though other single devices stand higher; those above the recommended one say why."""
    others = [
        make_trial(20 + n, ALONE.but(per_replica_batch=256 + n), examples_per_second=1600.0)
        for n in range(3)
    ]
    found = changed(trials=(*RESULT.trials, *others))
    entries = tuple(
        e.model_copy(update={"not_taken": NotTaken.SMALL if e.ratio.value > 1.5 else None})
        for e in found.answer.entries
    )
    answer = found.answer.model_copy(update={"entries": entries})
    text = draw(result_text(found.model_copy(update={"answer": answer}), OUT, verbose=True), 160)
    lines = [line.rstrip() for line in text.split("\n")]
    assert any(line.endswith(" 1.00  one device, batch 128 (your own)") for line in lines)
    assert sum("(not needed: a smaller change is within 1%)" in line for line in lines) == 3


def test_a_ratio_to_what_did_not_run_is_marked() -> None:
    """As expected, never as measured."""
    found = changed(told={"base": None})
    assert "~1.45 (" in draw(result_text(found, OUT, verbose=True), 160)
    assert "~1.45 (" in found.report()


def test_what_trains_wrongly_is_not_called_measured() -> None:
    """A configuration that was fast and failed a check carries that outcome."""
    other, drifts = RESULT.config.but(per_replica_batch=512), Message(text="It drifts.")
    rejected = {"outcome": Outcome.REJECTED, "examples_per_second": None, "reason": drifts}
    trials = (*RESULT.trials, make_trial(8, other), make_trial(9, other, **rejected))
    text = draw(result_text(changed(trials=trials), OUT, verbose=True), 160)
    lines = text.splitlines()
    assert next(line for line in lines if "2x512" in line).startswith("rejected")
    assert any(line.startswith("   9  rejected  ") for line in lines)
    assert text.count("It drifts.") == 1


def test_failures_of_one_cause_share_a_row() -> None:
    """A cause that repeats is told once, with the numbers of all its trials."""
    bad = {"outcome": Outcome.HUNG, "reason": Message(text="no step"), "examples_per_second": None}
    trials = tuple(make_trial(number, **bad) for number in (10, 11, 12))
    text = draw(result_text(changed(trials=trials), OUT), 160)
    assert text.count("No step.") == 1
    assert "(and trials 11, 12)" in text


def test_the_files_and_the_next_commands_are_named(tmp_path: Path) -> None:
    (tmp_path / "study.db").touch()
    folder = RESULT.save(tmp_path)
    text = draw(result_text(RESULT, folder, verbose=True), 300)
    assert all(name in text for name in ("config.yaml", "train.py", "trials.csv", "trials.jsonl"))
    assert f"python {folder}/train.py  # 10 epochs; or --epochs N" in text
    assert "launch.py" not in text
    assert "--resume" not in text
    (folder / "study.db").unlink()
    tables = {"result.json", "trials.csv", "trials.jsonl"}
    assert set(written(folder)) == {"config.yaml", "train.py", "report.html", *tables}


def test_a_command_is_quoted_and_never_broken(tmp_path: Path) -> None:
    """However narrow the terminal: a line break inside would be pasted into the shell."""
    folder, text = RESULT.save(tmp_path / ("long " * 20)), StringIO()
    Console(file=text, width=60).print(result_text(RESULT, folder), crop=False)
    assert f"python '{folder}/train.py'  # 10 epochs; or --epochs N\n" in text.getvalue()


def test_several_workers_are_started_by_their_launcher(tmp_path: Path) -> None:
    facts = RESULT.facts.model_copy(update={"fit": FitFacts(epochs=20)})
    gang = RESULT.model_copy(update={"launch": "print('launched')\n", "facts": facts})
    text = draw(result_text(gang, gang.save(tmp_path)), 300)
    assert f"python {tmp_path}/launch.py  # 20 epochs, as the script; or --epochs N" in text


def test_a_search_that_may_go_on_says_how() -> None:
    """Interrupted, or with the budget that would do, which is that of the second search alone."""
    open_ = {
        "verdict": Verdict.UNDECIDED,
        "ended": Ended.LIMIT,
        "further": Further(seconds=525.0, saves=900.0),
    }
    stopped = draw(result_text(changed(told={"ended": Ended.INTERRUPTED}), OUT), 160)
    assert "run the same command with --resume\n" in stopped
    short = draw(result_text(changed(told=open_), OUT), 160)
    assert "run the same command with --resume --budget 9min\n" in short
    fetched = draw(result_text(changed(told={**open_, "searched": 60.0}), OUT, fetched=True), 160)
    assert "submit the job again with --budget 10min\n" in fetched


def test_a_program_that_lacks_its_modules_says_so(tmp_path: Path) -> None:
    """As where a result was fetched from a machine that has them."""
    mine = Factory(name="model_fn", module="lib.digits", root="examples")
    workload = RESULT.workload.model_copy(update={"model": mine})
    folder = (found := RESULT.model_copy(update={"workload": workload})).save(tmp_path / "out")
    assert "# first put examples/lib/digits.py here" in draw(result_text(found, folder), 300)
    (tmp_path / "examples" / "lib").mkdir(parents=True)
    (tmp_path / "examples" / "lib" / "digits.py").touch()
    assert "train.py  # 10 epochs" in draw(result_text(found, folder), 300)


def test_it_says_what_is_searched_and_why_not_more(plan: Plan) -> None:
    """Size, axes with their meaning, rules with counts, and the time are all there."""
    text = draw(plan_text(plan), 200)
    assert "digits:model_fn on 2 CPU cores, 8 GiB, space quick" in text
    assert "32, 64, 128" in text
    assert describe("per_replica_batch") in text
    limits = [limit for each in plan.strategies for limit in each.limits]
    assert limits
    assert all(f"{limit.configurations:,}" in text for limit in limits)
    assert f"{plan.configurations} configurations" in text
    assert "The training is taken to last 1 h" in text


def test_no_name_is_broken(plan: Plan) -> None:
    """Strategies and axes can be copied from a narrow terminal too, and every line fits."""
    lines = draw(plan_text(plan), 60).splitlines()
    assert max(map(len, lines)) <= 60
    for each in plan.strategies:
        assert any(line.rstrip().endswith(each.title) for line in lines)
        for axis in each.axes:
            assert any(line.startswith(f"{axis.name} ") for line in lines)


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (FitFacts(line=6), "The fit in line 6 is tuned."),
        (
            FitFacts(line=6, others=(FitCall(line=9, of="gan"),)),
            "The fit in line 6 is tuned, not line 9 (gan): `fit` chooses another.",
        ),
        (FitFacts(line=6, left_out=("CSVLogger",)), "is tuned; trials leave out CSVLogger."),
        (FitFacts(line=6, network=3), "; line 3 uses the network, in each trial anew unless"),
        (FitFacts(line=6, backend="jax"), "; it asks for Keras's backend jax, but is timed, and"),
        (FitFacts(line=6, backend="tensorflow"), "The fit in line 6 is tuned."),
    ],
)
def test_it_says_which_fit_is_tuned(plan: Plan, fit: FitFacts, words: str) -> None:
    facts = plan.facts.model_copy(update={"fit": fit})
    assert words in draw(plan_text(plan.model_copy(update={"facts": facts})), 200)


def test_a_plan_knows_no_more_than_it_was_told(plan: Plan) -> None:
    """Values by size, whichever strategy has them; neither examples nor time are made up."""
    first, *others = plan.strategies
    axis = AxisPlan(name="per_replica_batch", values=(48, 32, 512, 16), meaning="")
    changed = {
        "strategies": (first.model_copy(update={"axes": (axis,)}), *others),
        "budget_seconds": None,
        "facts": plan.facts.model_copy(update={"examples": None}),
    }
    text = draw(plan_text(plan.model_copy(update=changed)), 200)
    for words in (
        "16, 32, 48, 128, 512",
        "ends when no run is expected to save more",
        "unknown number of examples",
    ):
        assert words in text
