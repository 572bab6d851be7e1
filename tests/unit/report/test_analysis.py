"""A result as data, as a table and as a picture."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from autotune.errors import MissingPackage
from autotune.result import Result
from autotune.strategies import in_short

Changed = Callable[..., Result]


def test_plain_data_goes_through_json(result: Result) -> None:
    """It holds the keys of --json, and only what JSON can say."""
    found = result.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["verdict"] == "distribute"
    assert "windows" not in found["trials"][0]


def test_the_frame_has_a_row_for_each_trial(result: Result) -> None:
    """Figures are numbers, and each trial is compared with one device."""
    pytest.importorskip("pandas")
    frame = result.trials_frame()
    assert list(frame.index) == [trial.number for trial in result.trials]
    assert frame["examples_per_second"].dtype == float
    assert frame.loc[1, "vs_one_device"] == pytest.approx(1.5)
    assert frame.loc[2, "outcome"] == "crashed"
    assert frame.loc[1, "per_replica_batch"] == 64


def test_the_frame_of_no_trials_has_its_columns(changed: Changed) -> None:
    """A program that reads it need not know that nothing ran."""
    pytest.importorskip("pandas")
    frame = changed(trials=()).trials_frame()
    assert {"outcome", "examples_per_second", "strategy"} <= set(frame.columns)


@pytest.fixture(scope="module")
def _drawing() -> None:
    """Let matplotlib find its fonts before any test, for which it starts a process once."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    pytest.importorskip("matplotlib.font_manager")


@pytest.mark.usefixtures("_drawing")
def test_the_picture_shows_intervals_and_names(result: Result) -> None:
    """Every finalist has its interval, and the best single device a line."""
    axes = result.plot()
    labels = " ".join(label.get_text() for label in axes.get_yticklabels())
    assert "recommended" in labels
    assert in_short(result.config).partition(",")[0] in labels
    assert len(axes.containers) == len(axes.get_yticks())
    assert result.plot(axes) is axes


@pytest.mark.parametrize(("call", "package"), [("plot", "matplotlib"), ("trials_frame", "pandas")])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    result: Result, call: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to type."""
    monkeypatch.setattr("autotune.extras.find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=rf"{package}.*pip install '\.\[notebook\]'"):
        getattr(result, call)()
