"""What is told of the length of an epoch."""

from __future__ import annotations

import pytest

from autotune.config import Configuration
from autotune.program import epoch_in_words
from autotune.workload import FitFacts, WorkloadFacts

BATCHED = Configuration(per_replica_batch=32)


def test_an_epoch_like_that_of_fit_needs_no_words() -> None:
    """Whatever number of steps a call has."""
    facts = WorkloadFacts(examples=63 * 32)
    assert epoch_in_words(BATCHED.but(steps_per_execution=32), facts) is None


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (WorkloadFacts(), "1,000 steps an epoch, because the number of examples is not known"),
        (WorkloadFacts(examples=6000), "188 steps an epoch, the last of which takes 16 examples"),
        (
            WorkloadFacts(examples=6016, fit=FitFacts(partial=True)),
            "the last one of the script may hold fewer examples",
        ),
    ],
)
def test_what_differs_is_told(facts: WorkloadFacts, told: str) -> None:
    """Of a batch that is filled up, and of numbers that nobody knows."""
    assert told in (epoch_in_words(BATCHED, facts) or "")
