"""The verdict in a sentence."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.options import SearchOptions
from autotune.result import Result, Verdict
from autotune.result.verdict import Decision, Evidence, VerdictOutcome
from autotune.stats import Interval

ALONE = Configuration(per_replica_batch=128)
TWO = Configuration(strategy="mirrored", replicas_per_worker=2)


def test_who_is_recommended_without_a_verdict_is_told(result: Result) -> None:
    """A distributed recommendation that is only likely says so, and what would make it sure."""
    evidence = Evidence(
        outcome=VerdictOutcome.LIKELY, decision=Decision(verdict=Verdict.UNDECIDED), default=ALONE
    )
    told = result.model_copy(update={"evidence": evidence, "configuration": TWO}).summary
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
    decision = Decision(verdict=Verdict.ONE_DEVICE)
    evidence = Evidence(
        outcome=VerdictOutcome.SLOWER, decision=decision, default=ALONE, adjective=adjective
    )
    told = result.model_copy(update={"evidence": evidence}).summary
    assert f"that ran was {worse}." in told


def test_a_rival_of_the_baseline_is_named(result: Result) -> None:
    """A challenger that another single device may equal is not sure, and the reason says so."""
    gain = Interval(low=1.05, value=1.12, high=1.2)
    decision = Decision(
        verdict=Verdict.UNDECIDED, challenger=TWO, gain=gain, rounds=6, contender=ALONE, most=1.2
    )
    evidence = Evidence(outcome=VerdictOutcome.CONTENDED, decision=decision, default=ALONE)
    told = result.model_copy(update={"evidence": evidence}).summary
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
    evidence = Evidence(
        outcome=VerdictOutcome.LIKELY,
        decision=Decision(verdict=Verdict.UNDECIDED),
        default=ALONE,
        unmatched_batch=256,
    )
    likely = result.model_copy(update={"evidence": evidence, "configuration": TWO})
    alone = likely.model_copy(update={"configuration": ALONE})
    for each, says in ((likely, True), (alone, False)):
        assert any("not measured at the global batch of 256" in t for t in each.reasons) is says
