"""The tolerance follows what roundings do, and mistakes are beyond it."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from autotune.checks.certificate import Check, Finding
from autotune.checks.trajectory import check_trajectory
from autotune.config import Configuration
from autotune.engine.tasks import Numbers, RankObservation

from .conftest import rank

PASSED, FAILED, UNDECIDED = Finding.PASSED, Finding.FAILED, Finding.UNDECIDED
START: Numbers = (0.0, 0.0)
END: Numbers = (3.0, 4.0)
PAIR = Configuration(strategy="mirrored", replicas_per_worker=2, per_replica_batch=32)
STEPS = 8


def trained(end: Numbers, spread: float = 1e-6, **fields: Any) -> Check:
    """Check a training that ends somewhere, where roundings change so much."""
    others = [END, (3.0 + spread, 4.0), (3.0, 4.0 - spread)]
    references = [rank(each, start=START) for each in others]
    return check_trajectory(rank(end, end, start=START, **fields), references, PAIR, STEPS)


def test_a_gradient_counted_wrongly_fails() -> None:
    """Steps that are half as long are far beyond roundings."""
    check = trained((1.5, 2.0))
    assert check.finding is FAILED
    assert "rounding explains" in check.sentence


@pytest.mark.parametrize(
    ("check", "finding", "words"),
    [
        pytest.param(trained((6.0, 8.0), 0.5), UNDECIDED, "Cannot tell", id="a chaotic model"),
        pytest.param(
            trained((3.06, 4.08)), UNDECIDED, "by 2.0% of their change", id="a small deviation"
        ),
        pytest.param(trained((math.nan, 4.0)), UNDECIDED, "", id="no numbers"),
        pytest.param(trained(END, losses=(1.0,)), UNDECIDED, "", id="ended elsewhere"),
        pytest.param(
            trained(END, losses=(4.0, 2.0)),
            PASSED,
            "2.00 times that of one device",
            id="another loss in the log",
        ),
        pytest.param(
            trained(END, silenced=("BatchNormalization",)),
            PASSED,
            "left out of the comparison",
            id="normalization",
        ),
    ],
)
def test_what_is_no_plain_mistake_is_told_and_not_refused(
    check: Check, finding: Finding, words: str
) -> None:
    assert check.finding is finding
    assert words in check.sentence


def test_coarse_gradients_may_differ_more() -> None:
    """In 16 bits each half of a batch is rounded by itself; without a movement all looks right."""
    still = [rank(START, start=START)] * 3
    assert check_trajectory(still[0], still, PAIR, STEPS).finding is UNDECIDED
    mine, theirs = rank((3.03, 4.04), start=START), [rank(END, start=START)] * 3
    coarse = PAIR.but(precision="mixed_bfloat16")
    assert check_trajectory(mine, theirs, PAIR, STEPS).finding is UNDECIDED
    assert check_trajectory(mine, theirs, coarse, STEPS).finding is PASSED


def test_the_optimizers_memory_shows_what_its_steps_hide() -> None:
    """Adam's steps hardly depend on the size of a gradient, but its averages do."""

    def with_memory(memory: Numbers) -> RankObservation:
        plain, kept = rank(END, start=START), rank(memory, kind="optimizer", name="momentum")
        copy = plain.copies[0].model_copy(update={"end": (END, memory)})
        both = (*plain.variables, *kept.variables)
        return plain.model_copy(update={"variables": both, "copies": (copy,)})

    references = [with_memory((1.0, 1.0))] * 3
    check = check_trajectory(with_memory((2.0, 2.0)), references, PAIR, STEPS)
    assert check.finding is FAILED
    assert "momentum" in check.sentence


@given(st.floats(1e-9, 1e-3), st.floats(0, 0.999))
def test_whatever_roundings_do_is_within_the_tolerance(spread: float, part: float) -> None:
    """A deviation no larger than that between runs of one device never counts against it."""
    assert trained((3.0, 4.0 + part * spread), spread).finding is PASSED


@given(st.floats(1e-12, 1e-4))
def test_a_doubled_step_is_never_within_it(spread: float) -> None:
    """However quiet or loud the roundings are, up to there, a step of twice the size is wrong."""
    assert trained((6.0, 8.0), spread).finding is FAILED
