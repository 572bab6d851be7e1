"""A result as data and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from autotune.errors import MissingPackage
from autotune.result import Result
from autotune.trial import Trial

Changed = Callable[..., Result]
MakeTrial = Callable[..., Trial]


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
