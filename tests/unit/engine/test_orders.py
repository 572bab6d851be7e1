"""What is made of the answers that processes leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.engine.engine import RunResult
from autotune.engine.folder import TrialFolder
from autotune.engine.orders import learning
from autotune.reason import Outcome, Overdue, Phase
from autotune.stats.gradients import Unpredictable
from autotune.testing.fake import fake_learning


def ended(phase: Phase) -> RunResult:
    """Return the result of a look that a limit has ended."""
    return RunResult(
        outcome=Outcome.HUNG, reason=Overdue(phase=phase, seconds=9.0), wall_seconds=9.0
    )


def test_what_a_look_had_found_when_its_time_was_up_counts(tmp_path: Path) -> None:
    """It leaves an answer after each of its looks."""
    known = fake_learning(64.0)
    TrialFolder(tmp_path).answers(0).write_text(known.model_dump_json())
    found = learning(TrialFolder(tmp_path), ended(Phase.WHOLE), 32)
    assert found == known.model_copy(update={"seconds": 9.0})


@pytest.mark.parametrize(
    ("phase", "why"),
    [(Phase.WHOLE, Unpredictable.NO_TIME), (Phase.STEADY, Unpredictable.FAILED)],
)
def test_a_look_that_found_nothing_says_why(
    tmp_path: Path, phase: Phase, why: Unpredictable
) -> None:
    """Where the budget was too short, a longer one would do."""
    found = learning(TrialFolder(tmp_path), ended(phase), 32)
    assert (found.refused, found.seconds) == (why, 9.0)
