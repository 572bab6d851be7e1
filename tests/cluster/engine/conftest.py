"""A Ray cluster of two nodes on this machine, and an engine on it."""

from collections.abc import Iterator

import pytest

from autotune.engine.ray import RayEngine
from tests.cluster.engine.nodes import Nodes, nodes_apart


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """A cluster of two nodes that survives every test."""
    with nodes_apart() as cluster:
        yield cluster


@pytest.fixture
def apart() -> Iterator[Nodes]:
    """A cluster of two nodes for one test, which others may join and leave."""
    with nodes_apart() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def engine(nodes: Nodes) -> Iterator[RayEngine]:
    with RayEngine(nodes.url) as engine:
        yield engine
