"""What is made of the answers that processes leave."""

from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.engine.tasks import InspectionRequest, LearningRequest
from autotune.errors import FactoryFailed
from autotune.learning import Unpredictable
from autotune.reason import Exited, Outcome, Overdue, Phase, Raised
from autotune.workload import Workload
from tests.engines.contract import Behaviour
from tests.engines.fake import fake_learning
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
    assert found == known


@pytest.mark.parametrize(
    ("phase", "why"), [(Phase.WHOLE, Unpredictable.NO_TIME), (Phase.STEADY, Unpredictable.FAILED)]
)
def test_a_training_that_found_nothing_says_why(
    task: LearningRequest, phase: Phase, why: Unpredictable
) -> None:
    """Where the budget was too short, a longer one would do."""
    found = task.answer(ended(phase))
    assert found.refused is why
    assert found.batch == Configuration().global_batch


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (Raised(error="AttributeError", message="no attribute '_x'"), "bug in autotune"),
        (Exited(code=3), "Call them"),
    ],
)
def test_an_inspection_that_we_broke_is_no_fault_of_the_factories(
    reason: Raised | Exited, advice: str, workload: Workload
) -> None:
    """What they raise is told as theirs; what ends their process, they alone can show."""
    ended = RunResult(outcome=Outcome.CRASHED, reason=reason, wall_seconds=1.0)
    with pytest.raises(FactoryFailed) as caught:
        InspectionRequest(workload).answer(ended)
    assert advice in caught.value.next_step
