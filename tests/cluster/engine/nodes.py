"""A Ray cluster of several nodes on this machine."""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.waiting import happens

NODE = {"num_cpus": 1, "object_store_memory": 78_643_200}
MARK = "AUTOTUNE_TEST_CLUSTER"


class Nodes:
    """A cluster whose processes can be told from all others by a variable.

    Args:
        temporary: Where they put temporary files. Its path is short, because Ray's sockets are
            below.
        variables: Of all their processes, beside the usual ones.
    """

    def __init__(self, temporary: Path, **variables: str) -> None:
        utilities = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed.")
        self.mark = uuid.uuid4().hex
        self.temporary = temporary
        with pytest.MonkeyPatch.context() as patch:
            own = {name: str(temporary) for name in ("TMPDIR", "RAY_TMPDIR")}
            usual = {MARK: self.mark, "RAY_USAGE_STATS_ENABLED": "0"}
            for name, value in {**usual, **own, **variables}.items():
                patch.setenv(name, value)
            head = {**NODE, "include_dashboard": False, "include_log_monitor": False}
            self.cluster = utilities.Cluster(initialize_head=True, head_node_args=head)
            self.join()

    def join(self) -> None:
        self.cluster.add_node(**NODE)
        self.cluster.wait_for_nodes()

    @property
    def url(self) -> str:
        return f"ray://{self.cluster.address}"

    def agents(self) -> list[psutil.Process]:
        return self._processes("RayAgent")

    def forked(self) -> list[psutil.Process]:
        return self._processes("fork_server")

    def left(self, *, files: bool = True) -> list[Any]:
        """Return what is left after a while of processes, and of files unless they go later."""

        def look() -> list[Any]:
            folders = self.temporary.glob("autotune-*") if files else ()
            return [*self.agents(), *self.forked(), *folders]

        return [] if happens(lambda: not look()) else look()

    def files(self) -> set[Path]:
        """Return temporary folders of agents, and what lies in the memory that all share."""
        return {*self.temporary.glob("autotune-*"), *Path("/dev/shm").iterdir()}  # noqa: S108

    def close(self) -> None:
        self.cluster.shutdown()

    def _processes(self, word: str) -> list[psutil.Process]:
        found = []
        for each in psutil.process_iter():
            with suppress(psutil.Error):
                mine = each.environ().get(MARK) == self.mark
                if mine and word in " ".join(each.cmdline()):
                    found.append(each)
        return found


@contextmanager
def nodes_apart(**variables: str) -> Iterator[Nodes]:
    """Make a cluster with a folder of its own, whose path is short; end it, and take that away."""
    with (
        tempfile.TemporaryDirectory(prefix="at-", ignore_cleanup_errors=True) as place,
        closing(Nodes(Path(place), **variables)) as cluster,
    ):
        yield cluster
