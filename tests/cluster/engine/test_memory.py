"""Ray ends what is on a node when the node's memory runs out."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autotune.engine.base import Limits
from autotune.engine.ray import RayEngine
from autotune.reason import HostLost, Outcome
from tests.cluster.engine.nodes import Nodes, nodes_apart
from tests.cluster.engine.test_faults import ENOUGH, TWO
from tests.trials import request_for

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

EATS = """
import time
def main(*_, **__):
    held = [bytearray(b"x" * (16 << 20)) for _ in range(512)]
    time.sleep(60)
    held.clear()
"""
"""Takes 8 GB, and no more whatever becomes of it."""
ROOM = 6 * 2**30
"""Bytes until Ray finds its nodes full; agents and the gang that is right take less than half."""


@pytest.fixture
def small() -> Iterator[Nodes]:
    """A cluster that finds its memory full a little above what is used now."""
    utilities = pytest.importorskip("ray._private.utils", reason="Ray is not installed.")
    full = (utilities.get_used_memory() + ROOM) / utilities.get_system_memory()
    if full > 0.85:
        pytest.skip("There is too little memory for a trial that takes 8 GB.")
    limits = {"RAY_memory_usage_threshold": str(full), "RAY_memory_monitor_refresh_ms": "250"}
    with nodes_apart(**limits) as cluster:
        yield cluster


def _wait_for_room(used: Callable[[], int]) -> None:
    """Wait until what the trial held is free, and for longer than Ray takes from look to look."""
    before, since = used(), time.monotonic()
    while time.monotonic() < since + 3:
        time.sleep(0.2)
        if used() < before - 2**28:
            before, since = used(), time.monotonic()


def test_ray_ends_a_trial_for_its_memory(small: Nodes, tmp_path: Path) -> None:
    """It ran out of memory, which is no loss of a host: the next gang runs on all of them."""
    utilities = pytest.importorskip("ray._private.utils", reason="Ray is not installed.")
    with RayEngine(small.url) as engine:
        engine.machine()
        unlimited = Limits(memory=1 << 40)
        result = engine.execute(
            request_for(EATS, tmp_path / "one", limits=unlimited), lambda _: None
        )
        print(f"full: told after {result.wall_seconds:.1f} s")  # noqa: T201 - for whoever asks with -s
        assert result.outcome is Outcome.OUT_OF_MEMORY, result
        assert isinstance(result.reason, HostLost)
        assert result.reason.memory
        # The nodes share a memory, so that each may end its own agent for want of it.
        _wait_for_room(utilities.get_used_memory)
        gang = engine.execute(request_for("gang", tmp_path / "two", roles=TWO), lambda _: ENOUGH)
        assert gang.outcome is Outcome.MEASURED, gang
    assert small.left() == []
