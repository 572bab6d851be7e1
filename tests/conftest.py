"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from autotune.past_measurements import CACHE
from autotune.workload import Factory, Workload

EXAMPLES = Path(__file__).parents[1] / "examples"


SEARCHES = (
    *("test_tune.py", "test_verify.py", "test_interrupt.py", "test_notebook.py"),
    *("test_bad_input.py", "test_doctor.py"),
)
"""Files whose searches of this machine would wait for each other."""


def pytest_collection() -> None:
    """Collect no garbage while all tests are imported, which leave next to none."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep garbage collection from what was imported, which stays: it took a third of the time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what searches this machine, because it takes the longest."""
    items.sort(key=lambda item: not _searches(item.nodeid))


class OneSearch(LoadFileScheduling):
    """Keeps each file together, whose tests share what is made once, and so all that searches."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return "searches" if _searches(nodeid) else scope


@pytest.hookimpl(optionalhook=True)  # Without xdist nobody calls it.
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneSearch | None:
    """Divide the tests of processes in this way."""
    return OneSearch(config, log) if config.getoption("dist") == "loadfile" else None


def _searches(nodeid: str) -> bool:
    path = Path(nodeid.partition("::")[0])
    return path.name in SEARCHES and "unit" not in path.parts


NOT_TESTED = "AUTOTUNE_NOT_TESTED"
"""Names the file in which `make test` collects, from all its runs, why tests were skipped."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add the reason of each skipped test to that file, a line each."""
    place = os.environ.get(NOT_TESTED)
    if place is None or "PYTEST_XDIST_WORKER" in os.environ:
        return  # What a worker skips is told by the run that it works for.
    with Path(place).open("a", encoding="utf-8") as file:
        for report in terminalreporter.getreports("skipped"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            file.write(f"{str(reason).removeprefix('Skipped: ')}\n")


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
