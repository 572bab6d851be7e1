"""What all tests share."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from autotune.workload import Factory, Workload

# Here, because whatever imports it first has it as it is.
pytest.register_assert_rewrite("tests.engines.contract")

SEARCHES = ("tests/acceptance/test_tune.py", "tests/acceptance/test_scripts.py")
"""Files whose searches of this machine would wait for each other."""
PAGES = tuple(f"tests/browser/test_{name}.py" for name in ("everybody", "layout", "page"))
"""Files whose tests share a service, a job and a browser."""
LONG = (
    *SEARCHES,
    "tests/integration/api/test_deploy.py",
    "tests/acceptance/test_serve.py",
    "tests/browser/",
    *(f"tests/integration/search/test_{name}.py" for name in ("truths", "rates")),
    "tests/integration/program/test_programs.py",
    "tests/integration/certification/",
    "tests/integration/api/http/",
    *(
        f"tests/integration/engine/test_{name}.py"
        for name in ("contract", "script", "inspect", "data")
    ),
    "tests/integration/api/",
)
"""What takes long, in about the order in which it begins, so that no process is alone at last."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep garbage collection from what is imported, which stays: it took a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _turn(item.nodeid))


class OneSearch(LoadFileScheduling):
    """Keeps each file together, whose tests share what is made once, and some files as well."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return "searches" if scope in SEARCHES else "pages" if scope in PAGES else scope


@pytest.hookimpl(optionalhook=True)  # Without xdist nobody calls it.
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneSearch | None:
    return OneSearch(config, log) if config.getoption("dist") == "loadfile" else None


def _turn(nodeid: str) -> int:
    return next((turn for turn, each in enumerate(LONG) if nodeid.startswith(each)), len(LONG))


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
