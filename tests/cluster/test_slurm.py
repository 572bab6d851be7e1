"""The delivered script for Slurm, as Slurm runs it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cluster.delivered import QUIET, STEPS, deliver, trains
from tests.cluster.slurm import Slurm
from tests.waiting import until


def submit(
    slurm: Slurm, folder: Path, *arguments: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    quiet = [f"{name}={value}" for name, value in QUIET.items()]
    command = ["env", *quiet, "sbatch", "--wait", "--output=job.txt", "launch.slurm", *arguments]
    done = slurm.run(*command, cwd=folder)
    return done, (folder / "job.txt").read_text("utf-8")


@pytest.mark.real
def test_a_gang_trains_on_two_nodes(slurm: Slurm, folder: Path) -> None:
    """The script and the program are as they were delivered."""
    deliver(folder, "launch.slurm")
    done, output = submit(slurm, folder, "train.py", *STEPS)
    assert done.returncode == 0, output
    assert "Epoch 2/2" in output
    assert "loss:" in output


def test_a_failed_node_ends_the_job(slurm: Slurm, folder: Path) -> None:
    """The other one would wait for it without end."""
    deliver(folder, "launch.slurm")
    program = "import os, time\nif os.environ['SLURM_PROCID'] == '1': raise SystemExit(3)\n"
    (folder / "train.py").write_text(f"{program}time.sleep(600)", encoding="utf-8")
    done, output = submit(slurm, folder, "train.py")
    assert done.returncode != 0
    assert "task 1: Exited with exit code 3" in output
    until(lambda: not any(trains(host) for host in slurm.hosts), 60)
