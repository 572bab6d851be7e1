"""What all tests share."""

from __future__ import annotations

import signal
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


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C reaches what tests start, also where a shell runs them in the background.

    A shell lets its background jobs ignore SIGINT, and every process inherits that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def workload() -> Workload:
    """A workload that only the fake engine can run."""
    return Workload(
        model=Factory(name="model_fn", module="digits"),
        dataset=Factory(name="dataset_fn", module="digits"),
    )
