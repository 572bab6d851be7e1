"""The checks for machines with GPUs, as far as they need none: outcomes, limits, the table."""

from __future__ import annotations

import time

import pytest

from tests.gpu.check import Check, Finding, Kind, run, status, table
from tests.gpu.checks import CHECKS


def fails(_: object) -> str:
    raise AssertionError("3 workers used 1 GPU | of 3")


def breaks(_: object) -> str:
    raise FileNotFoundError("nvidia-smi")


def hangs(_: object) -> str:
    try:
        time.sleep(60)
    except Exception:  # noqa: BLE001 - as careless code does
        return "swallowed"
    return "slept"


def only(look: object, **fields: object) -> Finding:
    check = Check(name="it", look=look, **fields)
    return run([check], None, 1, 10.0)["it"]


@pytest.mark.parametrize(
    ("look", "kind", "evidence"),
    [
        (lambda _: "9 steps/s", Kind.PASSED, "9 steps/s"),
        (fails, Kind.FAILED, "3 workers used 1 GPU | of 3"),
        (breaks, Kind.BROKE, "FileNotFoundError: nvidia-smi"),
    ],
)
def test_a_check_ends_in_one_of_few_ways(look: object, kind: Kind, evidence: str) -> None:
    """What does not hold is told apart from what could not be looked at."""
    found = only(look)
    assert (found.kind, found.evidence) == (kind, evidence)


def test_a_check_that_hangs_is_ended() -> None:
    """Its limit holds though it catches every error."""
    began = time.monotonic()
    assert only(hangs, seconds=0.05).kind is Kind.TIMED_OUT
    assert time.monotonic() - began < 30


def test_a_check_that_needs_more_gpus_is_not_run() -> None:
    """What one GPU cannot show is no failure."""
    found = only(fails, gpus=2)
    assert (found.kind, found.evidence) == (Kind.SKIPPED, "needs 2 GPUs, there is 1")


def test_without_time_nothing_is_begun() -> None:
    """The limit for all of them is kept."""
    found = run([Check(name="it", look=fails)], None, 1, 0.0)
    assert found["it"].kind is Kind.SKIPPED


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ([Kind.PASSED, Kind.SKIPPED], 0),
        ([Kind.PASSED, Kind.FAILED], 1),
        ([Kind.PASSED, Kind.BROKE], 1),
        ([Kind.TIMED_OUT], 1),
        ([Kind.SKIPPED, Kind.SKIPPED], 77),
        ([], 77),
    ],
)
def test_the_exit_status_tells_what_was_checked(kinds: list[Kind], code: int) -> None:
    """Nothing checked is neither a success nor a failure."""
    found = {str(n): Finding(kind=kind, evidence="") for n, kind in enumerate(kinds)}
    assert status(found) == code


def test_the_table_can_be_pasted() -> None:
    """Each check is one row of Markdown, whatever its evidence holds."""
    found = {"gang": Finding(kind=Kind.FAILED, evidence="a | b\nc" + "x" * 999, seconds=3.2)}
    head, rule, row = table(found).splitlines()
    assert head.count("|") == rule.count("|") == row.replace("\\|", "").count("|") == 5
    assert row.startswith("| gang | failed | 3 s | a \\| b c")
    assert len(row) < 400


def test_every_check_fits_the_ten_minutes() -> None:
    """Names are unique, and no check alone takes more than its part."""
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.seconds <= 90 for check in CHECKS)
    assert {check.gpus for check in CHECKS} == {1, 2}
