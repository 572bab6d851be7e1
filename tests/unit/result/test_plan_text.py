"""The plan before a search."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autotune.config import describe
from autotune.plan import AxisPlan, Plan
from autotune.result.plan_text import plan_text
from autotune.workload import FitCall, FitFacts

Draw = Callable[..., str]


@pytest.mark.parametrize("width", [60, 80, 160])
def test_nothing_is_wider_than_the_terminal(plan: Plan, draw: Draw, width: int) -> None:
    """Every line fits."""
    assert max(map(len, draw(plan_text(plan), width).splitlines())) <= width


def test_it_says_what_is_searched_and_why_not_more(plan: Plan, draw: Draw) -> None:
    """Size, axes with their meaning, rules with counts, and the time are all there."""
    text = draw(plan_text(plan), 200)
    assert "digits:model_fn on 2 CPU cores, 8 GiB, space quick" in text
    assert "32, 128, 512" in text
    assert describe("per_replica_batch") in text
    limits = [limit for each in plan.strategies for limit in each.limits]
    assert limits
    assert all(f"{limit.configurations:,}" in text for limit in limits)
    assert f"{plan.configurations} configurations" in text
    assert "at most 3 min" in text


def test_the_values_of_all_strategies_stand_in_one_order(plan: Plan, draw: Draw) -> None:
    """By size, whichever strategy has them."""
    first, *others = plan.strategies
    axis = AxisPlan(name="per_replica_batch", values=(48, 32, 512, 16), meaning="")
    strategies = (first.model_copy(update={"axes": (axis,)}), *others)
    text = draw(plan_text(plan.model_copy(update={"strategies": strategies})), 200)
    assert "16, 32, 48, 128, 512" in text


def test_no_name_is_broken(plan: Plan, draw: Draw) -> None:
    """Strategies and axes can be copied from a narrow terminal too."""
    lines = draw(plan_text(plan), 60).splitlines()
    for each in plan.strategies:
        assert any(line.rstrip().endswith(each.title) for line in lines)
        for axis in each.axes:
            assert any(line.startswith(f"{axis.name} ") for line in lines)


def test_a_search_without_a_time_limit_says_so(plan: Plan, draw: Draw) -> None:
    """Where only trials bound the search, no time is promised."""
    text = draw(plan_text(plan.model_copy(update={"budget_seconds": None})), 200)
    assert "ends after --max-trials" in text


def test_examples_that_nobody_counted(plan: Plan, draw: Draw) -> None:
    """An unknown number of examples is not shown as one."""
    facts = plan.facts.model_copy(update={"examples": None})
    assert "unknown number of examples of 400 B" in draw(
        plan_text(plan.model_copy(update={"facts": facts}))
    )


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (FitFacts(line=6), "The fit in line 6 is tuned."),
        (
            FitFacts(line=6, others=(FitCall(line=9, of="gan"),)),
            "The fit in line 6 is tuned, not line 9 (gan): --fit chooses another.",
        ),
        (FitFacts(line=6, left_out=("CSVLogger",)), "is tuned; trials leave out CSVLogger."),
        (FitFacts(line=6, network=3), "; line 3 uses the network, in each trial anew unless"),
        (FitFacts(line=6, backend="jax"), "; it asks for Keras's backend jax, but is timed, and"),
        (FitFacts(line=6, backend="tensorflow"), "The fit in line 6 is tuned."),
    ],
)
def test_it_says_which_fit_is_tuned(plan: Plan, draw: Draw, fit: FitFacts, words: str) -> None:
    """With the others, and with what of the script trials leave out."""
    facts = plan.facts.model_copy(update={"fit": fit})
    assert words in draw(plan_text(plan.model_copy(update={"facts": facts})), 200)
