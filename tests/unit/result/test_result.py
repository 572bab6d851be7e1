"""A result as data, and its verdict in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from autotune.config import Configuration
from autotune.result import Result, Verdict
from autotune.result.answer import settings
from autotune.result.verdict import Decision, Evidence, VerdictOutcome
from autotune.stats.intervals import Interval

from .conftest import ALONE, RESULT, changed, make_trial

TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def saying(outcome: VerdictOutcome, configuration: Configuration = ALONE, **known: Any) -> Result:
    decision = Decision(verdict=Verdict.UNDECIDED)
    evidence = Evidence(**{"outcome": outcome, "decision": decision, "default": ALONE, **known})
    return RESULT.model_copy(update={"evidence": evidence, "configuration": configuration})


def test_plain_data_goes_through_json() -> None:
    """It holds the keys of --json; windows are left to trials.jsonl; what is infinite is null."""
    found = RESULT.to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["verdict"] == "distribute"
    assert found["configuration"]["strategy"] == "mirrored"
    assert found["best_distributed_speedup"] == {"low": 1.21, "value": 1.42, "high": 1.66}
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


@pytest.mark.parametrize(
    ("adjective", "worse", "better"),
    [
        ("fast", "slower", "faster"),
        ("cheap", "dearer", "cheaper"),
        ("fast to the same loss", "slower to the same loss", "faster to the same loss"),
        ("accurate", "less accurate", "more accurate"),
    ],
)
def test_what_is_worse_is_said_of_what_is_compared(adjective: str, worse: str, better: str) -> None:
    """Dearer is not slower; what ran is told apart from what is proved."""
    told = saying(VerdictOutcome.SLOWER, adjective=adjective).summary
    assert f"that ran was {worse}." in told
    proved = saying(VerdictOutcome.PROVED_SLOWER, adjective=adjective).summary
    assert f"no distributed configuration can be {better}." in proved


def test_an_answer_that_is_not_sure_tells_what_it_rests_on() -> None:
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
    told = saying(VerdictOutcome.LIKELIER_DISTRIBUTE, TWO, decision=open_).summary
    assert told.startswith("Not sure yet, probably distribute: MirroredStrategy with 2 replicas")
    assert "1.12 times (0.97 to 1.30) as fast as the best single device" in told
    assert "With a probability of 92% it is faster than every configuration on" in told
    assert "Distributing is expected to lose less than 0.1%, staying 2.3%" in told
    assert "search for a further 8min to be sure" in told
    stay = saying(VerdictOutcome.LIKELIER_STAY, decision=open_).summary
    assert stay.startswith("Not sure yet, probably stay on one device: ")
    assert "With a probability of 60% none gains 3% or more" in stay
    assert "Staying is expected to lose 2.3%, distributing less than 0.1%" in stay


@pytest.mark.parametrize(
    ("outcome", "faster", "words"),
    [
        (VerdictOutcome.LIKELIER_DISTRIBUTE, 0.4, "Not sure yet, meanwhile distribute: "),
        (VerdictOutcome.LIKELIER_STAY, 0.4, "Not sure yet, meanwhile stay on one device: "),
        (VerdictOutcome.LIKELIER_DISTRIBUTE, 1.0, "With a probability of 99% it is faster than"),
    ],
)
def test_no_side_is_called_likelier_or_surer_than_it_is(
    outcome: VerdictOutcome, faster: float, words: str
) -> None:
    """What may lose less is recommended meanwhile; a probability was drawn, and is none of 1."""
    open_ = Decision(verdict=Verdict.UNDECIDED, challenger=TWO, faster=faster, none=0.3)
    assert words in saying(outcome, decision=open_).summary


@pytest.mark.parametrize(
    ("low", "why"),
    [
        (0.9, "no others on one device were significantly better"),
        (1.9, "another batch seems better, but few runs show it"),
    ],
)
def test_own_settings_are_kept_for_what_the_table_shows(low: float, why: str) -> None:
    larger = ALONE.taking({"per_replica_batch": 256})
    seen = Interval(low=low, value=2.9, high=4.3)
    entry = RESULT.compared[0].model_copy(update={"configuration": larger, "speedup": seen})
    trials = (make_trial(0), make_trial(1, larger))
    kept = saying(VerdictOutcome.LIKELIER_STAY).model_copy(
        update={"compared": (entry,), "trials": trials}
    )
    assert settings(kept).endswith(f"; {why}.")
