"""A small workload on this machine's GPUs, and a table of what was seen there, to be pasted."""

import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.engine.base import Limits, RunResult, Stop
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import trial_request
from autotune.machine import Machine
from autotune.search.stopping import MeasureWatch
from autotune.shared_values import Window
from autotune.workload import Workload, WorkloadFacts, factory_from_text

FACTORIES = Path(__file__).with_name("workload.py")
FACTS = WorkloadFacts(examples=4096)
LIMITS = Limits(start=60.0, first_step=60.0)
NOTHING_CHECKED = 77
"""Exit status where there is no GPU, as test harnesses know a test that was skipped."""
Shows = Callable[[str], None]
_table: list[str] = []


class Bench:
    """An engine on this machine, and a small workload to run on it."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine

    @property
    def machine(self) -> Machine:
        return self.engine.machine()

    def train(
        self,
        axes: dict[str, Any],
        model: str = "model_fn",
        in_use: Callable[[], None] = lambda: None,
    ) -> RunResult:
        """Run a trial until it is measured; `in_use` is called while it trains."""
        measured = MeasureWatch()

        def watch(windows: Sequence[Window]) -> Stop | None:
            in_use()
            return measured(windows)

        workload = Workload(
            model=factory_from_text(f"{FACTORIES}:{model}"),
            dataset=factory_from_text(f"{FACTORIES}:dataset_fn"),
        )
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "trial"
            configuration = Configuration(**axes)
            request = trial_request(
                configuration, workload, FACTS, self.machine, place, limits=LIMITS
            )
            return self.engine.execute(request, watch)


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    """The engine; without a GPU nothing is checked."""
    with LocalEngine() as engine:
        machine = engine.machine()
        versions = f"TensorFlow {machine.tensorflow}, Keras {machine.keras}"
        _table.append(f"{machine}; Python {machine.python}, {versions}")
        if not machine.gpus:
            pytest.exit("TensorFlow sees no GPU here: nothing was checked.", NOTHING_CHECKED)
        yield Bench(engine)


@pytest.fixture
def gpus(bench: Bench) -> int:
    """How many GPUs there are, for what needs several."""
    if len(bench.machine.gpus) < 2:
        pytest.skip("needs 2 GPUs, there is 1")
    return len(bench.machine.gpus)


@pytest.fixture
def shows(record_property: Callable[[str, object], None]) -> Shows:
    """Notes the evidence that a check holds."""
    return lambda text: record_property("evidence", text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or report.outcome != "passed":
        shown = str(call.excinfo.value) if call.excinfo else item.user_properties[-1][1]
        broke = report.failed and call.excinfo and not call.excinfo.errisinstance(AssertionError)
        outcome = "not checked" if report.skipped else "broke" if broke else report.outcome
        evidence = " ".join(str(shown).split()).replace("|", "\\|")[:300]
        name = item.name.removeprefix("test_").replace("_", " ")
        _table.append(f"| {name} | {outcome} | {report.duration:.0f} s | {evidence} |")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    head = ["", "| check | outcome | took | evidence |", "| --- | --- | ---: | --- |"]
    for line in [*_table[:1], *head, *_table[1:]] if _table else ():
        terminalreporter.write_line(line)
