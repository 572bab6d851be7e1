"""What tests on several hosts share."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.hosts import Hosts, why_not

HOSTS = ("host0", "host1", "host2")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("cluster")


@pytest.fixture(scope="session")
def namespaces() -> None:
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture
def hosts(namespaces: None, tmp_path: Path) -> Iterator[Hosts]:
    del namespaces
    with closing(Hosts(HOSTS, tmp_path)) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that all hosts see, with a name that needs quoting."""
    found = tmp_path / "a 'folder' of mine"
    found.mkdir()
    return found
