"""A Ray cluster of two nodes on this machine, and an engine on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("autotune.testing.contract")

from autotune.run.remote.ray_engine import RayEngine  # noqa: E402
from tests.cluster.engine.nodes import Nodes  # noqa: E402


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """A cluster of two nodes that survives every test."""
    folder = Path(tempfile.mkdtemp(prefix="at-"))
    cluster = Nodes(folder)
    yield cluster
    cluster.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def engine(nodes: Nodes) -> Iterator[RayEngine]:
    """An engine on these nodes."""
    with RayEngine(nodes.url) as engine:
        yield engine
