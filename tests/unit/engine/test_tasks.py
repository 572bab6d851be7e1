"""What is made of the answers that processes leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.engine.tasks.train import LearningRequest
from autotune.reason import Outcome, Overdue, Phase
from autotune.stats.gradients import Unpredictable
from autotune.testing.contract import Behaviour
from autotune.testing.fake import fake_learning
from tests.trials import request_of


@pytest.fixture
def task(tmp_path: Path) -> LearningRequest:
    return LearningRequest(trial=request_of(Behaviour.MEASURED, tmp_path, ()))


def ended(phase: Phase) -> RunResult:
    return RunResult(
        outcome=Outcome.HUNG, reason=Overdue(phase=phase, seconds=9.0), wall_seconds=9.0
    )


def test_what_was_found_when_its_time_was_up_counts(task: LearningRequest) -> None:
    """It leaves an answer each time that it has taken gradients."""
    known = fake_learning(64.0)
    found = task.answer(ended(Phase.WHOLE), [known.model_dump(mode="json")])
    assert found == known.model_copy(update={"seconds": 9.0})


@pytest.mark.parametrize(
    ("phase", "why"), [(Phase.WHOLE, Unpredictable.NO_TIME), (Phase.STEADY, Unpredictable.FAILED)]
)
def test_a_training_that_found_nothing_says_why(
    task: LearningRequest, phase: Phase, why: Unpredictable
) -> None:
    """Where the budget was too short, a longer one would do."""
    found = task.answer(ended(phase))
    assert (found.refused, found.seconds) == (why, 9.0)
    assert found.batch == Configuration().global_batch
