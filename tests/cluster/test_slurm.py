"""The delivered script for Slurm, and the search among the examples, as Slurm runs them."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cluster.conftest import HOSTS
from tests.cluster.delivered import QUIET, STEPS, deliver, trains
from tests.cluster.engine.test_search import WORKLOAD
from tests.cluster.hosts import Hosts
from tests.cluster.slurm import Slurm, why_not
from tests.waiting import until

SEARCH = Path(__file__).parents[2] / "examples" / "tune.slurm"


@pytest.fixture(scope="module")
def slurm(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    del namespaces
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    with closing(Hosts(HOSTS, folder)) as hosts:
        yield Slurm(hosts, folder)


def submit(slurm: Slurm, folder: Path, *job: str) -> tuple[subprocess.CompletedProcess[str], str]:
    quiet = [f"{name}={value}" for name, value in QUIET.items()]
    command = ["env", *quiet, "sbatch", "--wait", "--output=job.txt", *job]
    done = slurm.run(*command, cwd=folder, timeout=500)
    return done, (folder / "job.txt").read_text("utf-8")


@pytest.mark.real
def test_a_gang_trains_on_two_nodes(slurm: Slurm, folder: Path) -> None:
    """The script and the program are as they were delivered."""
    deliver(folder, "launch.slurm")
    done, output = submit(slurm, folder, "launch.slurm", "train.py", *STEPS)
    assert done.returncode == 0, output
    assert "Epoch 2/2" in output
    assert "loss:" in output


def test_a_failed_node_ends_the_job(slurm: Slurm, folder: Path) -> None:
    """The other one would wait for it without end."""
    deliver(folder, "launch.slurm")
    program = "import os, time\nif os.environ['SLURM_PROCID'] == '1': raise SystemExit(3)\n"
    (folder / "train.py").write_text(f"{program}time.sleep(600)", encoding="utf-8")
    done, output = submit(slurm, folder, "launch.slurm", "train.py")
    assert done.returncode != 0
    assert "task 1: Exited with exit code 3" in output
    until(lambda: not any(trains(host) for host in slurm.hosts), 60)


@pytest.mark.real
@pytest.mark.timeout(600)
def test_a_search_uses_all_nodes_of_its_job(slurm: Slurm, folder: Path) -> None:
    """It is planned for two hosts, and leaves nothing on them."""
    pytest.importorskip("ray", reason="Ray is not installed.")
    shutil.copy(SEARCH, folder)
    (folder / "mine.py").write_text(WORKLOAD, encoding="utf-8")
    factories = ["mine.py:model_fn", "mine.py:dataset_fn"]
    done, output = submit(slurm, folder, SEARCH.name, *factories, "--dry-run")
    assert done.returncode == 0, output
    assert "2 hosts" in output
    running = [each.info["name"] for host in slurm.hosts for each in host.processes()]
    assert not any("ray" in name or "python" in name for name in running)
