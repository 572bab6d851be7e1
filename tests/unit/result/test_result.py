"""A result as data, as a frame, and its verdict in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from autotune.config import Configuration
from autotune.engine.tasks.between import BetweenEpochs
from autotune.errors import MissingPackage
from autotune.options import SearchOptions
from autotune.result import Result, Verdict
from autotune.result.verdict import Decision, Evidence, VerdictOutcome
from autotune.stats import Interval

from .conftest import ALONE, Changed, MakeTrial

TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def saying(
    result: Result, outcome: VerdictOutcome, configuration: Configuration = ALONE, **known: Any
) -> Result:
    """Return a result with another outcome, and with what is known of it."""
    decision = Decision(verdict=Verdict.UNDECIDED)
    evidence = Evidence(**{"outcome": outcome, "decision": decision, "default": ALONE, **known})
    return result.model_copy(update={"evidence": evidence, "configuration": configuration})


def test_plain_data_goes_through_json(result: Result) -> None:
    """It holds the keys of --json; what trials.jsonl holds in full is left out."""
    found = result.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["verdict"] == "distribute"
    assert found["configuration"]["strategy"] == "mirrored"
    assert found["best_distributed_speedup"] == {"low": 1.21, "value": 1.42, "high": 1.66}
    assert len(found["trials"]) == len(result.trials)
    assert "windows" not in found["trials"][0]


def test_what_is_printed_and_saved_fits_the_schema(result: Result, tmp_path: Path) -> None:
    """All but the trials, which have a file of their own and are printed without their windows."""
    fits = jsonschema_rs.validator_for(Result.model_json_schema(mode="serialization"))
    saved = json.loads((result.save(tmp_path) / "result.json").read_text())
    for found in (result.to_dict(), saved):
        assert fits.is_valid({**found, "trials": []}), [*fits.iter_errors(found)]
    assert not fits.is_valid({**saved, "trials": [], "verdict": "perhaps"})


def test_a_figure_that_json_cannot_hold_is_null(changed: Changed, make_trial: MakeTrial) -> None:
    """An infinite rate does not make the document invalid."""
    endless = changed(trials=(make_trial(0, error=float("inf")),))
    read = json.loads(json.dumps(endless.to_dict()), parse_constant=pytest.fail)
    assert read["trials"][0]["error"] is None


def test_the_frame_has_a_row_for_each_trial(result: Result) -> None:
    """Figures are numbers, and each trial is compared with one device."""
    pytest.importorskip("pandas")
    frame = result.trials_frame()
    assert list(frame.index) == [trial.number for trial in result.trials]
    assert frame["examples_per_second"].dtype == float
    assert frame.loc[1, "vs_one_device"] == pytest.approx(1.5, rel=0.01)
    assert frame.loc[2, "outcome"] == "crashed"
    assert frame.loc[2, "reason"] == "worker 1 was killed by SIGSEGV"
    assert frame.loc[1, "per_replica_batch"] == 64


def test_the_frame_of_no_trials_has_its_columns(changed: Changed) -> None:
    """A program that reads it need not know that nothing ran."""
    pytest.importorskip("pandas")
    frame = changed(trials=()).trials_frame()
    assert {"outcome", "examples_per_second", "strategy"} <= set(frame.columns)


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to type."""
    monkeypatch.setattr("autotune.installed.find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r"pandas.*pip install '\.\[notebook\]'"):
        result.trials_frame()


@pytest.mark.parametrize(
    ("adjective", "worse", "better"),
    [
        ("fast", "slower", "faster"),
        ("cheap", "dearer", "cheaper"),
        ("fast to the same loss", "slower to the same loss", "faster to the same loss"),
        ("accurate", "less accurate", "more accurate"),
    ],
)
def test_what_is_worse_is_said_of_what_is_compared(
    result: Result, adjective: str, worse: str, better: str
) -> None:
    """Dearer is not slower; what ran is told apart from what is proved."""
    told = saying(result, VerdictOutcome.SLOWER, adjective=adjective).summary
    assert f"that ran was {worse}." in told
    proved = saying(result, VerdictOutcome.PROVED_SLOWER, adjective=adjective).summary
    assert f"no distributed configuration can be {better}." in proved


def test_an_answer_that_is_not_sure_tells_what_it_rests_on(result: Result) -> None:
    """The likelier side, its probability, what either may lose, and the budget that settles it."""
    open_ = Decision(
        verdict=Verdict.UNDECIDED,
        challenger=TWO,
        gain=Interval(low=0.97, value=1.12, high=1.3),
        faster=0.916,
        none=0.6,
        staying=0.023,
        distributing=0.0004,
        more_seconds=465.0,
    )
    told = saying(result, VerdictOutcome.LIKELIER_DISTRIBUTE, TWO, decision=open_).summary
    assert told.startswith("Not sure yet, likelier distribute: MirroredStrategy with 2 replicas")
    assert "1.12 times (0.97 to 1.30) as fast as the best single device" in told
    assert "With a probability of 92% it is faster than every configuration on" in told
    assert "Distributing is expected to lose less than 0.1%, staying 2.3%" in told
    assert "continue with a budget of 9min (--resume) to be sure" in told
    stay = saying(result, VerdictOutcome.LIKELIER_STAY, decision=open_).summary
    assert stay.startswith("Not sure yet, likelier stay on one device: ")
    assert "With a probability of 60% none gains 3% or more" in stay
    assert "Staying is expected to lose 2.3%, distributing less than 0.1%" in stay


def test_the_side_that_may_lose_less_is_not_called_likelier_where_it_is_not(
    result: Result,
) -> None:
    """It is recommended meanwhile."""
    open_ = Decision(verdict=Verdict.UNDECIDED, challenger=TWO, faster=0.4, none=0.3)
    for outcome, words in (
        (VerdictOutcome.LIKELIER_DISTRIBUTE, "Not sure yet, meanwhile distribute: "),
        (VerdictOutcome.LIKELIER_STAY, "Not sure yet, meanwhile stay on one device: "),
    ):
        assert saying(result, outcome, decision=open_).summary.startswith(words)


def test_no_probability_is_called_certain(result: Result) -> None:
    """It was drawn, and the model may be wrong."""
    sure = Decision(verdict=Verdict.UNDECIDED, challenger=TWO, faster=1.0)
    assert "99%" in saying(result, VerdictOutcome.LIKELIER_DISTRIBUTE, TWO, decision=sure).summary


@pytest.mark.parametrize(("diagnose", "budget"), [(True, 60.0), (False, 60.0), (True, None)])
def test_a_diagnosis_for_which_no_time_was_left_is_told(
    result: Result, *, diagnose: bool, budget: float | None
) -> None:
    """Only where one was asked for, and time was bounded."""
    options = SearchOptions(diagnose=diagnose, budget=budget)
    told = result.model_copy(update={"diagnosis": None, "options": options}).reasons
    assert any("No time was left" in each for each in told) is (diagnose and budget is not None)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"validation": 0.5, "checkpoint": 0.25}, "validation 0.5 s and a checkpoint 0.25 s"),
        ({"checkpoint": 0.25}, "a checkpoint 0.25 s"),
        ({}, None),
    ],
)
def test_what_lies_between_epochs_is_told(
    changed: Changed, found: dict[str, float], said: str | None
) -> None:
    """Beside the epoch, with its share; nothing where nothing was seen."""
    lines = [
        line
        for line in changed(between=BetweenEpochs(**found)).reasons
        if line.startswith("After each epoch")
    ]
    assert len(lines) == (said is not None)
    assert all(f"{said}: " in line for line in lines)


def test_the_speed_of_a_changed_script_is_told(changed: Changed) -> None:
    found = changed(patch="a change", patch_speed=0.97).reasons
    assert any("train.patch ran once, with 0.97 times" in line for line in found)
