"""Replicas that start, run or end differently are found."""

from __future__ import annotations

import pytest

from autotune.checks.certificate import Finding
from autotune.checks.replicas import check_equal, check_places, check_random, check_start
from autotune.engine.tasks.observe import Numbers, RankObservation

from .conftest import rank, variable

END = (2.0, 3.0)
FAR = (2.5, 1.0)


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param([rank(END, END)], id="of one process"),
        pytest.param([rank(END), rank(END)], id="of several"),
        pytest.param([rank(END), rank((2.0, 3.0 + 2**-22))], id="up to a rounding"),
        pytest.param([rank(END, FAR, apart=True)], id="added up when it is read"),
    ],
)
def test_equal_replicas_pass(ranks: list[RankObservation]) -> None:
    """They agree in every number, but for what other machines round or differs on purpose."""
    assert check_start(ranks).finding is Finding.PASSED
    assert check_equal(ranks, 8).finding is Finding.PASSED


@pytest.mark.parametrize("ranks", [[rank(END, FAR)], [rank(END), rank(FAR)]])
def test_replicas_that_went_other_ways_fail(ranks: list[RankObservation]) -> None:
    """Weights that differ after some steps were not updated together."""
    check = check_equal(ranks, 8)
    assert check.finding is Finding.FAILED
    assert "kernel differs by" in check.sentence


def test_another_start_fails() -> None:
    """Replicas that begin elsewhere learn something else."""
    ranks = [rank(END, END, starts=((1.0, 2.0), (1.0, 2.1)))]
    assert check_start(ranks).finding is Finding.FAILED


@pytest.mark.parametrize(
    ("other", "finding"), [((7.0, 8.0), Finding.FAILED), ((9.0, 8.0), Finding.PASSED)]
)
def test_equal_random_numbers_fail(other: Numbers, finding: Finding) -> None:
    """Generators in the same state draw the same numbers; a model without any passes."""
    ends = ((7.0, 8.0), other)
    drawn = [rank(*ends, starts=ends, kind="random", epsilon=0.0)]
    assert check_random(drawn).finding is finding
    assert check_start(drawn).finding is Finding.PASSED
    assert check_random([rank(END, END)]).finding is Finding.PASSED


def test_a_variable_on_one_device_fails() -> None:
    """A variable without copies beside others with copies was made outside of the scope."""
    here = rank(END, END)
    lone = variable("outside", copies=1, mirrored=False)
    check = check_places([here.model_copy(update={"variables": (*here.variables, lone)})])
    assert check.finding is Finding.FAILED
    assert check.sentence.startswith("outside is on one device only")
    assert check_places([rank(END, copies=1, mirrored=False)]).finding is Finding.PASSED
