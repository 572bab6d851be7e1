"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.workload import Factory, Workload

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def workload() -> Workload:
    """A workload that only the fake engine can run."""
    return Workload(
        model=Factory(name="model_fn", module="digits"),
        dataset=Factory(name="dataset_fn", module="digits"),
    )
