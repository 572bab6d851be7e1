"""What the card promises is kept: the times of trials, and the budget that allows a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.events import Event, Planned
from autotune.options import SearchOptions
from autotune.plan import Plan, times_in_words
from autotune.result import Verdict
from autotune.search.tune import TuningRequest, dry_run
from autotune.testing import FAKE_FACTS, FakeEngine
from autotune.workload import Workload, WorkloadFacts

from .conftest import SPACE, Tuner, speed

TRACING = 30.0
SMALL = FAKE_FACTS.model_copy(update={"operations": 16})
LARGE = FAKE_FACTS.model_copy(update={"operations": 2300})
"""As many operations as let expect that tracing takes half a minute."""


def engine(facts: WorkloadFacts, *, faster: float = 1.0) -> FakeEngine:
    return FakeEngine(speed(distributed=faster), facts=facts, tracing=TRACING, between=0.03)


@pytest.fixture
def plan(workload: Workload) -> Plan:
    """The card of a model that takes long to trace, for a search of a minute."""
    options = SearchOptions(budget=60.0)
    request = TuningRequest(workload=workload, space=SPACE, options=options, out=Path("out"))
    return dry_run(request, engine(LARGE))


def test_the_look_at_the_model_tells_how_long_tracing_takes(plan: Plan) -> None:
    """Before anything was run, a large graph is expected to take as long as it does.

    A budget that cannot do is told with one that can.
    """
    assert plan.tracing_seconds == pytest.approx(TRACING, rel=0.25)
    assert plan.exhaustive_seconds > plan.configurations * TRACING
    assert f"{plan.tracing_seconds:.0f} s of it tracing" in times_in_words(plan)
    assert "try a budget of" in times_in_words(plan)
    assert plan.enough_seconds is not None
    enough = plan.model_copy(update={"budget_seconds": plan.enough_seconds})
    assert "too short" not in times_in_words(enough)


def test_the_look_tells_how_long_the_users_code_takes(workload: Workload) -> None:
    options = SearchOptions(budget=60.0)
    request = TuningRequest(workload=workload, space=SPACE, options=options, out=Path("out"))
    plan = dry_run(request, engine(SMALL.model_copy(update={"calling_seconds": 20.0})))
    assert plan.exhaustive_seconds > plan.configurations * 20
    assert "may not be enough" in times_in_words(plan)


@pytest.mark.parametrize(
    ("faster", "verdict"), [(0.5, Verdict.ONE_DEVICE), (1.5, Verdict.DISTRIBUTE)]
)
def test_the_budget_that_is_named_allows_a_verdict(
    tuner: Tuner, plan: Plan, faster: float, verdict: Verdict
) -> None:
    """With it, a clear case is decided, and within it."""
    playing = engine(LARGE, faster=faster)
    result = tuner(None, engine=playing, options={"budget": plan.enough_seconds})
    assert result.verdict is verdict
    assert playing.now() <= plan.enough_seconds + TRACING


def test_a_study_that_is_resumed_promises_what_its_trials_took(tuner: Tuner) -> None:
    plans: list[Plan] = []

    def observer(event: Event) -> None:
        if isinstance(event, Planned):
            plans.append(event.plan)

    given = {"options": {"budget": 300.0}, "observer": observer, "study": "long"}
    tuner(None, engine=engine(SMALL), **given)
    tuner(None, engine=engine(SMALL), resume=True, **given)
    assert plans[1].trial_seconds == pytest.approx(TRACING, rel=0.25)


@pytest.mark.parametrize("budget", [100.0, 400.0])
def test_no_trial_fits_into_what_an_undecided_search_leaves(tuner: Tuner, budget: float) -> None:
    playing = engine(LARGE)
    result = tuner(None, engine=playing, options={"budget": budget})
    assert result.verdict is Verdict.UNDECIDED
    assert budget - playing.now() < min(trial.wall_seconds for trial in result.trials)
