"""Replicas that start, run or end differently are found."""

from __future__ import annotations

import pytest

from autotune.checks.certificate import Finding
from autotune.checks.replicas import check_equal, check_places, check_random, check_start

from .conftest import variable, witness

END = (2.0, 3.0)
FAR = (2.5, 1.0)


def test_equal_replicas_pass() -> None:
    """Replicas of one process, and of several, that agree in every number are right."""
    for witnesses in ([witness(END, END)], [witness(END), witness(END)]):
        assert check_start(witnesses).finding is Finding.PASSED
        assert check_equal(witnesses, 8).finding is Finding.PASSED


@pytest.mark.parametrize("witnesses", [[witness(END, FAR)], [witness(END), witness(FAR)]])
def test_replicas_that_went_other_ways_fail(witnesses: list[object]) -> None:
    """Weights that differ after some steps were not updated together."""
    check = check_equal(witnesses, 8)  # type: ignore[arg-type] # both are lists of witnesses
    assert check.finding is Finding.FAILED
    assert "kernel differs by" in check.sentence


def test_a_rounding_is_no_drift() -> None:
    """Machines of different kinds may differ in the last digit."""
    assert check_equal([witness(END), witness((2.0, 3.0 + 2**-22))], 8).finding is Finding.PASSED


def test_what_differs_on_purpose_is_left_alone() -> None:
    """A variable that is added up only when it is read has other values on each replica."""
    assert check_equal([witness(END, FAR, apart=True)], 8).finding is Finding.PASSED


def test_another_start_fails() -> None:
    """Replicas that begin elsewhere learn something else."""
    witnesses = [witness(END, END, starts=((1.0, 2.0), (1.0, 2.1)))]
    assert check_start(witnesses).finding is Finding.FAILED


def test_equal_random_numbers_fail() -> None:
    """Generators in the same state draw the same numbers on all replicas."""
    same = [witness((7.0, 8.0), (7.0, 8.0), kind="random", epsilon=0.0)]
    assert check_random(same).finding is Finding.FAILED
    own = [
        witness((7.0, 8.0), (9.0, 8.0), starts=((7.0, 0.0), (9.0, 0.0)), kind="random", epsilon=0.0)
    ]
    assert check_random(own).finding is Finding.PASSED
    assert check_start(own).finding is Finding.PASSED


def test_no_random_numbers_are_no_fault() -> None:
    """A model without generators passes."""
    assert check_random([witness(END, END)]).finding is Finding.PASSED


def test_a_variable_on_one_device_fails() -> None:
    """A variable without copies beside others with copies was made outside of the scope."""
    here = witness(END, END)
    lone = variable("outside", copies=1, mirrored=False)
    twice = here.model_copy(update={"variables": (*here.variables, lone)})
    check = check_places([twice])
    assert check.finding is Finding.FAILED
    assert check.sentence.startswith("outside is on one device only")


def test_a_strategy_that_keeps_all_variables_in_one_place_passes() -> None:
    """Where no variable has copies, none is missing any."""
    assert check_places([witness(END, copies=1, mirrored=False)]).finding is Finding.PASSED
