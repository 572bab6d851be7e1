"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.past.place import CACHE
from autotune.workload import Factory, Workload

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="session", autouse=True)
def no_past() -> Iterator[None]:
    """No test reads or writes the user's own past measurements, nor does what it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, "off")
        yield


@pytest.fixture
def workload() -> Workload:
    """A workload that only the fake engine can run."""
    return Workload(
        model=Factory(name="model_fn", module="digits"),
        dataset=Factory(name="dataset_fn", module="digits"),
    )
