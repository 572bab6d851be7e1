"""Whatever is lost, a trial ends soon, its reason is named, and nothing is left."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autotune.engine.base import RunResult, Stop
from autotune.engine.ray import RayEngine
from autotune.plain import Window
from autotune.reason import HostLost, Killed, Orphaned, Outcome, TooFewHosts
from autotune.roles import Role
from tests.cluster.engine.nodes import NODE, Nodes, nodes_apart
from tests.trials import ENOUGH, request_for, text_of

pytestmark = pytest.mark.real

TWO = (Role(), Role(index=1, host=1))
LOOP = text_of("gang")
SOON = 40.0
"""Seconds, where Ray itself waits for a minute; what a free machine takes stands in the docs."""


class Fault:
    """A watch that makes something happen once training is under way, and notes when."""

    def __init__(self, cause: Callable[[], object]) -> None:
        self._cause = cause
        self.at = 0.0

    def __call__(self, windows: Sequence[Window]) -> None:
        if len(windows) >= 3 and not self.at:
            self.at = time.monotonic()
            self._cause()


def seconds_until_told(
    engine: RayEngine, folder: Path, cause: Callable[[], object]
) -> tuple[RunResult, float]:
    fault = Fault(cause)
    result = engine.execute(request_for("gang", folder, roles=TWO), fault)
    seconds = time.monotonic() - fault.at
    print(f"{result.reason}: told after {seconds:.1f} s")  # noqa: T201 - for whoever asks with -s
    return result, seconds


def works(engine: RayEngine, folder: Path) -> bool:
    result = engine.execute(request_for("gang", folder, roles=TWO), lambda _: ENOUGH)
    return result.outcome is Outcome.MEASURED


class Traces:
    """What there was before a fault, to tell what it has left."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._files = nodes.files()
        self._waiting = len(nodes.forked())

    def left(self, seconds: float = 60.0) -> list[Any]:
        """Wait until only agents and what has TensorFlow are left; return what else there is."""
        deadline = time.monotonic() + seconds
        while True:
            found: list[Any] = [*(self._nodes.files() - self._files)]
            found += [*self._nodes.forked()][self._waiting :]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.1)


def test_a_rank_that_is_killed_is_named(engine: RayEngine, nodes: Nodes, tmp_path: Path) -> None:
    """Its own end is the reason, not what its peer says of it; nothing is left."""
    engine.machine()
    before = Traces(nodes)
    mine = "json.loads(os.environ['TF_CONFIG'])['task']['index']"
    line = f"        if call == 20 and {mine} == 1: os.kill(os.getpid(), 9)\n        call += 1"
    program = "import json, os\n" + LOOP.replace("        call += 1", line)
    result = engine.execute(request_for(program, tmp_path / "t", roles=TWO), lambda _: None)
    assert result.reason == Killed(process="worker 1", signal=9)
    assert before.left() == []


def test_a_fork_server_that_is_killed_is_replaced(
    engine: RayEngine, nodes: Nodes, tmp_path: Path
) -> None:
    """The trial has crashed, the next one is measured, and nothing is left."""
    engine.machine()
    before = Traces(nodes)
    result, seconds = seconds_until_told(
        engine, tmp_path / "one", lambda: [each.kill() for each in nodes.forked()]
    )
    assert (result.outcome, result.reason) == (Outcome.CRASHED, Orphaned())
    assert seconds < SOON
    assert works(engine, tmp_path / "two")
    assert before.left() == []


def test_an_agent_that_is_killed_is_replaced(
    engine: RayEngine, nodes: Nodes, tmp_path: Path
) -> None:
    """Its machine is named at once, what it had started ends, and a new one takes its place."""
    result, seconds = seconds_until_told(
        engine, tmp_path / "one", lambda: [each.kill() for each in nodes.agents()[:1]]
    )
    assert isinstance(result.reason, HostLost)
    assert result.reason.silent is None
    assert seconds < SOON
    assert works(engine, tmp_path / "two")


@pytest.fixture
def own(nodes: Nodes, engine: RayEngine) -> Iterator[RayEngine]:
    engine.close()
    with RayEngine(nodes.url) as mine:
        yield mine


def test_a_silent_agent_is_a_lost_host(own: RayEngine, nodes: Nodes, tmp_path: Path) -> None:
    """It is given up after some seconds, without Ray's opinion, and ended with its processes."""
    result, seconds = seconds_until_told(
        own, tmp_path / "one", lambda: [each.suspend() for each in nodes.agents()[:1]]
    )
    assert isinstance(result.reason, HostLost)
    assert result.reason.silent == 5.0
    assert seconds < SOON
    again = own.execute(request_for("gang", tmp_path / "two", roles=TWO), lambda _: ENOUGH)
    assert again.reason == TooFewHosts(needed=2, left=1)
    alone = own.execute(request_for("fit", tmp_path / "three"), lambda _: ENOUGH)
    assert alone.outcome is Outcome.MEASURED
    own.close()
    # Its files go with the next agent on the host.
    assert nodes.left(files=False) == []


CALLER = """
import sys
from pathlib import Path
from tests.cluster.engine.test_faults import TWO, request_for, RayEngine
with RayEngine(sys.argv[1]) as engine:
    told = lambda windows: print("trains", flush=True)
    engine.execute(request_for("gang", Path(sys.argv[2]), roles=TWO), told)
"""


def test_a_caller_that_is_killed_leaves_nothing(
    engine: RayEngine, nodes: Nodes, tmp_path: Path
) -> None:
    """Agents and their processes end on all hosts, and their files go."""
    engine.close()
    command = [sys.executable, "-c", CALLER, nodes.url, tmp_path / "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "trains\n"
        process.kill()
        assert nodes.left() == []


@pytest.fixture
def small() -> Iterator[Nodes]:
    """A cluster of two nodes, of which one may go and others join."""
    with nodes_apart() as cluster:
        yield cluster


def test_a_node_that_joins_is_used_by_the_next_search(small: Nodes, tmp_path: Path) -> None:
    """What was measured holds for the machines of the start, and a trial goes on beside it."""

    def join(windows: Sequence[Window]) -> Stop | None:
        if len(windows) < 3:
            return None
        small.cluster.add_node(**NODE)
        small.cluster.wait_for_nodes()
        return ENOUGH

    with RayEngine(small.url) as engine:
        engine.machine()
        result = engine.execute(request_for("gang", tmp_path / "one", roles=TWO), join)
        assert result.outcome is Outcome.MEASURED
        assert len(engine.machine().hosts) == 2
        assert works(engine, tmp_path / "two")
        assert len(small.agents()) == 2
    with RayEngine(small.url) as engine:
        assert len(engine.machine().hosts) == 3
    assert small.left() == []
