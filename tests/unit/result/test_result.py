"""A result as data, and its verdict in a sentence."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from autotune.answer import Because, Ended, Further, Verdict
from autotune.errors import ConfigurationError
from autotune.result import Result, load_configuration
from autotune.text import roughly
from autotune.workload import Length, LengthSource

from .conftest import ALONE, RESULT, changed, make_trial


def saying(**told: Any) -> Result:
    answer = RESULT.answer.model_copy(update=told)
    return RESULT.model_copy(update={"answer": answer, "configuration": answer.recommended})


def test_plain_data_goes_through_json() -> None:
    """It holds the keys of --json; windows are left to trials.jsonl; what is infinite is null."""
    found = RESULT.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["verdict"] == "distribute"
    assert found["configuration"]["strategy"] == "mirrored"
    assert found["gain_over_yours"]["value"] == pytest.approx(1.45)
    assert found["examples_per_second"]["value"] == 1450.0
    assert len(found["trials"]) == len(RESULT.trials)
    assert "windows" not in found["trials"][0]
    endless = changed(trials=(make_trial(0, error=float("inf")),)).to_dict()
    read = json.loads(json.dumps(endless), parse_constant=pytest.fail)
    assert read["trials"][0]["error"] is None


def test_what_is_printed_and_saved_fits_the_schema(tmp_path: Path) -> None:
    """All but the trials, which have a file of their own and are printed without their windows."""
    fits = jsonschema_rs.validator_for(Result.model_json_schema(mode="serialization"))
    saved = json.loads((RESULT.save(tmp_path) / "result.json").read_text())
    for found in (RESULT.to_dict(), saved):
        assert fits.is_valid({**found, "trials": []}), [*fits.iter_errors(found)]
    assert not fits.is_valid({**saved, "trials": [], "verdict": "perhaps"})


def test_the_first_line_is_time() -> None:
    """Of the training with and without the recommendation; the ratio stands in the table alone."""
    first, *others = saying().summary.split(". ")
    assert first == "Training takes 40 min instead of 1 h, after 1 min 15 s of search"
    assert others[0].startswith("Distribute: MirroredStrategy with 2 replicas gains 3% or more")
    assert "(97% sure)" in others[0]
    assert "times" not in saying().summary
    kept = saying(recommended=ALONE, verdict=Verdict.ONE_DEVICE, because=Because.NOT_FASTER)
    assert kept.summary.startswith("Training takes 1 h with the settings closest to your own in")


def test_what_is_only_expected_or_assumed_is_said() -> None:
    """Where the own settings did not run, and where nothing says how long the training is."""
    expected = saying(base=None).summary
    assert expected.startswith("Training is expected to take 40 min")
    assert "Your own settings did not run" in expected
    assert "An hour is assumed" in expected
    known = Length(source=LengthSource.SCRIPT, examples=1e6, seconds=None, at_most=True)
    assert "takes at most 40 min" in saying(length=known).summary
    assert "assumed" not in saying(length=known).summary


@pytest.mark.parametrize(
    ("ended", "saves", "told"),
    [
        (Ended.LIMIT, 600.0, "The limit ended the search; a further 2 min of search would be"),
        (Ended.INTERRUPTED, 600.0, "interrupted; a further 2 min of search would be expected"),
        (Ended.PAID, 30.0, "More search would not pay: a further 2 min would be expected to save"),
    ],
)
def test_what_more_search_would_save_is_told(ended: Ended, saves: float, told: str) -> None:
    verdict = Verdict.ONE_DEVICE if ended is Ended.PAID else Verdict.UNDECIDED
    text = saying(
        ended=ended,
        verdict=verdict,
        because=Because.NOT_SURE,
        recommended=ALONE,
        further=Further(seconds=120.0, saves=saves),
        probability=0.4,
    ).summary
    assert told in text
    assert f"save {roughly(saves)}" in text
    assert ("Not sure yet, on one device so far: " in text) is (verdict is Verdict.UNDECIDED)
    assert "a gain of 3% or more is only 60% likely" in text


def test_no_probability_is_said_to_be_one() -> None:
    assert "(99% sure)" in saying(probability=1.0).summary


def test_a_field_that_no_longer_exists_is_ignored(tmp_path: Path) -> None:
    """In the result and below it; the saved configuration is read from the same file."""
    folder = RESULT.save(tmp_path)
    path = folder / "result.json"
    kept = json.loads(path.read_text())
    kept["answer"]["entries"][0]["origins"] = ["script"]
    path.write_text(json.dumps({**kept, "gone": 1}))
    assert Result.load(folder).answer == RESULT.answer
    assert load_configuration(folder / "config.yaml").answer == RESULT.answer


def test_a_result_of_an_earlier_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    folder = RESULT.save(tmp_path)
    path = folder / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 1}))
    with pytest.raises(ConfigurationError, match="or search again"):
        Result.load(folder)
