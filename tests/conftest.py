"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from autotune.past.place import CACHE
from autotune.workload import Factory, Workload

EXAMPLES = Path(__file__).parents[1] / "examples"


SEARCHES = (
    *("test_tune.py", "test_verify.py", "test_interrupt.py", "test_notebook.py"),
    *("test_bad_input.py", "test_doctor.py"),
)
"""Files whose searches of this machine would wait for each other."""


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep files together where tests run side by side: what they share is made once.

    Whatever searches this machine is one group, and the first, as it takes the longest.
    """
    for item in items:
        name = "searches" if item.path.name in SEARCHES and _is_real(item) else item.path
        item.add_marker(pytest.mark.xdist_group(str(name)))
    items.sort(key=lambda item: not (item.path.name in SEARCHES and _is_real(item)))


def _is_real(item: pytest.Item) -> bool:
    return item.get_closest_marker("real") is not None


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
