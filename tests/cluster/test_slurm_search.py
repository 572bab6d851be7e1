"""A search in a Slurm job, by the script among the examples."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cluster.delivered import QUIET
from tests.cluster.engine.test_search import WORKLOAD
from tests.cluster.slurm import Slurm

SCRIPT = Path(__file__).parents[2] / "examples" / "tune.slurm"


@pytest.mark.real
@pytest.mark.timeout(600)
def test_a_search_uses_all_nodes_of_its_job(slurm: Slurm, folder: Path) -> None:
    """It is planned for two hosts, and leaves nothing on them."""
    pytest.importorskip("ray", reason="Ray is not installed.")
    shutil.copy(SCRIPT, folder)
    (folder / "mine.py").write_text(WORKLOAD, encoding="utf-8")
    quiet = [f"{name}={value}" for name, value in QUIET.items()]
    submit = ["env", *quiet, "sbatch", "--wait", "--output=job.txt", "tune.slurm"]
    factories = ["mine.py:model_fn", "mine.py:dataset_fn"]
    done = slurm.run(*submit, *factories, "--dry-run", cwd=folder, timeout=500)
    output = (folder / "job.txt").read_text("utf-8")
    assert done.returncode == 0, output
    assert "2 hosts" in output
    running = [each.info["name"] for host in slurm.hosts for each in host.processes()]
    assert not any("ray" in name or "python" in name for name in running)
