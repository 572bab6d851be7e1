"""The tolerance follows what roundings do, and mistakes are beyond it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from autotune.checks.certificate import Check, Finding
from autotune.checks.trajectory import Steps, check_trajectory
from autotune.engine.observation import Numbers, Witness

from .conftest import witness

START: Numbers = (0.0, 0.0)
END: Numbers = (3.0, 4.0)
TAKEN = Steps(count=8, batch=64, replicas=2)


def course(end: Numbers, spread: float, **fields: object) -> Check:
    """Judge a training that ends somewhere, where roundings change so much."""
    others = [END, (3.0 + spread, 4.0), (3.0, 4.0 - spread)]
    references = [witness(each, start=START) for each in others]
    mine = witness(end, end, start=START, **fields)
    return check_trajectory(mine, references, TAKEN)


def test_the_same_course_passes() -> None:
    """Where weights end within what rounding explains, the course is right."""
    assert course((3.0 + 1e-6, 4.0), spread=1e-7).finding is Finding.PASSED


@pytest.mark.parametrize("factor", [0.5, 2.0], ids=["half", "twice"])
def test_a_gradient_counted_wrongly_fails(factor: float) -> None:
    """Steps that are half as long, or twice, are far beyond roundings."""
    check = course((3.0 * factor, 4.0 * factor), spread=1e-6)
    assert check.finding is Finding.FAILED
    assert "rounding explains" in check.sentence


def test_a_chaotic_model_decides_nothing() -> None:
    """Where roundings change a tenth of everything, even a mistake would not show."""
    check = course((6.0, 8.0), spread=0.5)
    assert check.finding is Finding.UNDECIDED
    assert "Cannot tell" in check.sentence


def test_a_small_deviation_is_told_and_not_refused() -> None:
    """What is beyond roundings and too small for a mistake in averaging is left to the reader."""
    check = course((3.06, 4.08), spread=1e-6)
    assert check.finding is Finding.UNDECIDED
    assert "by 2.0% of their change" in check.sentence


def test_coarse_gradients_may_differ_more() -> None:
    """Where gradients are computed in 16 bits, each half of a batch is rounded by itself."""
    mine, theirs = witness((3.03, 4.04), start=START), [witness(END, start=START)] * 3
    coarse = replace(TAKEN, epsilon=2.0**-7)
    assert check_trajectory(mine, theirs, TAKEN).finding is Finding.UNDECIDED
    assert check_trajectory(mine, theirs, coarse).finding is Finding.PASSED


def test_no_movement_decides_nothing() -> None:
    """With a learning rate of zero any training looks right."""
    still = [witness(START, start=START)] * 3
    check = check_trajectory(still[0], still, TAKEN)
    assert check.finding is Finding.UNDECIDED


def test_numbers_that_are_none_decide_nothing() -> None:
    """Weights that are no numbers any more cannot be compared."""
    assert course((math.nan, 4.0), spread=1e-6).finding is Finding.UNDECIDED


def test_the_optimizers_memory_shows_what_its_steps_hide() -> None:
    """Adam's steps hardly depend on the size of a gradient, but its averages do."""

    def with_memory(memory: Numbers) -> Witness:
        plain, kept = witness(END, start=START), witness(memory, kind="optimizer", name="momentum")
        copy = plain.copies[0].model_copy(update={"end": (END, memory)})
        return plain.model_copy(
            update={"variables": (*plain.variables, *kept.variables), "copies": (copy,)}
        )

    right = with_memory((1.0, 1.0))
    check = check_trajectory(with_memory((2.0, 2.0)), [right] * 3, TAKEN)
    assert check.finding is Finding.FAILED
    assert "momentum" in check.sentence


def test_another_figure_in_the_log_is_told() -> None:
    """A loss that is only logged otherwise is no mistake, and yet worth a word."""
    check = course(END, spread=1e-6, losses=(4.0, 2.0))
    assert check.finding is Finding.PASSED
    assert "2.00 times that of one device" in check.sentence


def test_normalization_is_mentioned() -> None:
    """What was left out of the comparison is told."""
    assert (
        "left out of the comparison"
        in course(END, spread=1e-6, silenced=("BatchNormalization",)).sentence
    )


def test_a_training_that_ends_elsewhere_cannot_be_compared() -> None:
    """A callback may have ended one of the runs."""
    assert course(END, spread=1e-6, losses=(1.0,)).finding is Finding.UNDECIDED


@given(st.floats(1e-9, 1e-3), st.floats(0, 0.999))
def test_whatever_roundings_do_is_within_the_tolerance(spread: float, part: float) -> None:
    """A deviation no larger than that between runs of one device never counts against anybody."""
    assert course((3.0, 4.0 + part * spread), spread).finding is Finding.PASSED


@given(st.floats(1e-12, 1e-4))
def test_a_doubled_step_is_never_within_it(spread: float) -> None:
    """However quiet or loud the roundings are, up to there, a step of twice the size is wrong."""
    assert course((6.0, 8.0), spread).finding is Finding.FAILED
