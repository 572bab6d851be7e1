"""What the plan promises is kept: the times of trials; and how long it takes the training to be."""

from pathlib import Path
from typing import Any

import pytest

from autotune.events import Event, Notice, Planned
from autotune.options import SearchOptions
from autotune.plan import Plan, times_in_words
from autotune.search.tune import TuningRequest, dry_run
from autotune.workload import FitFacts, Workload, WorkloadFacts
from tests.engines.fake import FAKE_FACTS, FakeEngine

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
    """Before anything was run, a large graph is expected to take as long as it does."""
    assert plan.tracing_seconds == pytest.approx(TRACING, rel=0.25)
    assert plan.exhaustive_seconds > plan.configurations * TRACING
    assert "after 1 min at the latest" in times_in_words(plan)


@pytest.mark.parametrize("first", [None, TRACING])
def test_seconds_of_a_trial_are_told_once_a_first_call_was_timed(
    plan: Plan, first: float | None
) -> None:
    facts = LARGE.model_copy(update={"first_step_seconds": first})
    words = times_in_words(plan.model_copy(update={"facts": facts}))
    assert ("s of it tracing" in words) == (first is not None)
    assert words.startswith(f"{plan.configurations} configurations")


def test_the_look_tells_how_long_the_users_code_takes(workload: Workload) -> None:
    options = SearchOptions(budget=60.0)
    request = TuningRequest(workload=workload, space=SPACE, options=options, out=Path("out"))
    plan = dry_run(request, engine(SMALL.model_copy(update={"calling_seconds": 20.0})))
    assert plan.exhaustive_seconds > plan.configurations * 20


FIT = FitFacts(line=9, epochs=20, may_stop=True)
TIMED = SMALL.model_copy(update={"fit": FIT, "own_step_seconds": 0.02})


@pytest.mark.parametrize(
    ("facts", "asked", "words"),
    [
        (SMALL, {}, "is taken to last 1 h, because two functions do not tell how many epochs"),
        (SMALL, {"epochs": 5}, "has 5 epochs of 10,000 examples, as you say."),
        (SMALL, {"train_for": "6h"}, "takes 6 h by your own settings, as you say."),
        (SMALL, {"train_for": "1s"}, "shorter than a single trial, so a search saves no time."),
        (
            TIMED,
            {},
            "20 epochs of 10,000 examples, as the script says. Its first steps tell that it",
        ),
        (TIMED, {}, "it takes about 2 min by your own settings, or half or twice that;"),
        (TIMED, {}, "a callback may end it before."),
    ],
)
def test_a_plan_tells_how_long_the_training_is(
    workload: Workload, facts: WorkloadFacts, asked: dict[str, Any], words: str
) -> None:
    """With where that comes from, and without a budget."""
    options = SearchOptions(**asked)
    request = TuningRequest(workload=workload, space=SPACE, options=options, out=Path("out"))
    plan = dry_run(request, engine(facts))
    assert plan.budget_seconds is None
    assert words in times_in_words(plan)


@pytest.mark.parametrize(("seconds", "told"), [(0.5, True), (60.0, False)])
def test_a_training_that_is_over_before_a_trial_is_told_before_anything_runs(
    workload: Workload, *, seconds: float, told: bool
) -> None:
    events: list[Event] = []
    options = SearchOptions(train_for=seconds)
    request = TuningRequest(workload=workload, space=SPACE, options=options, out=Path("out"))
    dry_run(request, engine(SMALL), events.append)
    first = events[0]
    assert (isinstance(first, Notice) and "over before a single trial" in first.text) is told


def test_a_study_that_is_resumed_promises_what_its_trials_took(tuner: Tuner) -> None:
    plans: list[Plan] = []

    def observer(event: Event) -> None:
        if isinstance(event, Planned):
            plans.append(event.plan)

    given = {"options": {"budget": 300.0}, "observer": observer, "study": "long"}
    tuner(None, engine=engine(SMALL), **given)
    tuner(None, engine=engine(SMALL), resume=True, **given)
    assert plans[1].trial_seconds == pytest.approx(TRACING, rel=0.25)
