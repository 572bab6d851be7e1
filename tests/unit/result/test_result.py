"""A result as data, as a frame, and its verdict in a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autotune.config import Configuration
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
    assert frame.loc[1, "vs_one_device"] == pytest.approx(1.5)
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


def test_who_is_recommended_without_a_verdict_is_told(result: Result) -> None:
    """A distributed recommendation that is only likely says so, and what would make it sure."""
    told = saying(result, VerdictOutcome.LIKELY, configuration=TWO).summary
    assert told.startswith("Undecided: ")
    assert "is probably faster than one device" in told
    assert "increase the budget to be sure" in told


@pytest.mark.parametrize(
    ("adjective", "worse"),
    [
        ("fast", "slower"),
        ("cheap", "dearer"),
        ("fast to the same loss", "slower to the same loss"),
        ("accurate", "less accurate"),
    ],
)
def test_what_is_worse_is_said_of_what_is_compared(
    result: Result, adjective: str, worse: str
) -> None:
    """Dearer is not slower."""
    told = saying(result, VerdictOutcome.SLOWER, adjective=adjective).summary
    assert f"that ran was {worse}." in told


def test_a_rival_of_the_baseline_is_named(result: Result) -> None:
    """A challenger that another single device may equal is not sure, and the reason says so."""
    gain = Interval(low=1.05, value=1.12, high=1.2)
    decision = Decision(
        verdict=Verdict.UNDECIDED, challenger=TWO, gain=gain, rounds=6, contender=ALONE, most=1.2
    )
    told = saying(result, VerdictOutcome.CONTENDED, decision=decision).summary
    assert "1.12 times (1.05 to 1.20)" in told
    assert "other single-device settings may be as fast (one device, batch 128)" in told


@pytest.mark.parametrize(("diagnose", "budget"), [(True, 60.0), (False, 60.0), (True, None)])
def test_a_diagnosis_for_which_no_time_was_left_is_told(
    result: Result, *, diagnose: bool, budget: float | None
) -> None:
    """Only where one was asked for, and time was bounded."""
    options = SearchOptions(diagnose=diagnose, budget=budget)
    told = result.model_copy(update={"diagnosis": None, "options": options}).reasons
    assert any("No time was left" in each for each in told) is (diagnose and budget is not None)


def test_a_likely_gain_at_a_batch_that_one_device_was_not_run_at_says_so(result: Result) -> None:
    """A part of it may come from the batch; of one device nothing has to be said."""
    for configuration, says in ((TWO, True), (ALONE, False)):
        more = {"configuration": configuration, "unmatched_batch": 256}
        each = saying(result, VerdictOutcome.LIKELY, **more)
        assert any("not measured at the global batch of 256" in t for t in each.reasons) is says
