"""Whatever is lost, a trial ends soon, its reason is named, and nothing is left."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autotune.engine.base import RunResult, Stop
from autotune.engine.ray import RayEngine
from autotune.reason import HostLost, Killed, Outcome, PlainReason, ReasonKind, TooFewHosts
from autotune.shared_values import Window
from autotune.strategies import Role
from tests.cluster.engine.nodes import Nodes
from tests.trials import ENOUGH, request_for, text_of
from tests.waiting import happens

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


def traces(nodes: Nodes) -> Callable[[], bool]:
    """Note what there is before a fault; return what waits until there is no more than that."""
    files, forked = nodes.files(), len(nodes.forked())
    return lambda: happens(lambda: nodes.files() <= files and len(nodes.forked()) <= forked)


def test_a_rank_that_is_killed_is_named(engine: RayEngine, nodes: Nodes, tmp_path: Path) -> None:
    """Its own end is the reason, not what its peer says of it; nothing is left."""
    engine.machine()
    nothing_is_left = traces(nodes)
    mine = "json.loads(os.environ['TF_CONFIG'])['task']['index']"
    line = f"        if call == 20 and {mine} == 1: os.kill(os.getpid(), 9)\n        call += 1"
    program = "import json, os\n" + LOOP.replace("        call += 1", line)
    result = engine.execute(request_for(program, tmp_path / "t", roles=TWO), lambda _: None)
    assert result.reason == Killed(process="worker 1", signal=9)
    assert nothing_is_left()


def test_a_fork_server_that_is_killed_is_replaced(
    engine: RayEngine, nodes: Nodes, tmp_path: Path
) -> None:
    """The trial has crashed, the next one is measured, and nothing is left."""
    engine.machine()
    nothing_is_left = traces(nodes)
    result, seconds = seconds_until_told(
        engine, tmp_path / "one", lambda: [each.kill() for each in nodes.forked()]
    )
    assert (result.outcome, result.reason) == (
        Outcome.CRASHED,
        PlainReason(kind=ReasonKind.ORPHANED),
    )
    assert seconds < SOON
    assert works(engine, tmp_path / "two")
    assert nothing_is_left()


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


def test_a_silent_agent_is_a_lost_host(engine: RayEngine, nodes: Nodes, tmp_path: Path) -> None:
    """It is given up after some seconds, without Ray's opinion, and ended with its processes."""
    engine.close()
    with RayEngine(nodes.url) as own:
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


def test_a_node_that_joins_is_used_by_the_next_search(apart: Nodes, tmp_path: Path) -> None:
    """What was measured holds for the machines of the start, and a trial goes on beside it."""

    def join(windows: Sequence[Window]) -> Stop | None:
        if len(windows) < 3:
            return None
        apart.join()
        return ENOUGH

    with RayEngine(apart.url) as engine:
        engine.machine()
        result = engine.execute(request_for("gang", tmp_path / "one", roles=TWO), join)
        assert result.outcome is Outcome.MEASURED
        assert len(engine.machine().hosts) == 2
        assert works(engine, tmp_path / "two")
        assert len(apart.agents()) == 2
    with RayEngine(apart.url) as engine:
        assert len(engine.machine().hosts) == 3
    assert apart.left() == []
