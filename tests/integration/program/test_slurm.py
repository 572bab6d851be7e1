"""The Slurm script, with commands that stand in for Slurm's and workers without TensorFlow."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden import golden_texts

SCONTROL = """\
[ "$*" = "show hostnames node[1-9]" ] || exit 2
for each in $(seq "$NODES"); do echo "node$each"; done
"""
SRUN = """\
while [[ "$1" == --* ]]; do shift; done
for each in $(seq 0 $((NODES - 1))); do SLURM_PROCID=$each "$@" & started+=($!); done
for each in "${started[@]}"; do wait "$each" || exit 1; done
"""
# In a single write, because the workers share one output.
TRAIN = """\
import os, sys
os.write(1, ("|".join([os.environ["TF_CONFIG"], *sys.argv[1:]]) + "\\n").encode())
"""

Submit = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def submit(tmp_path: Path) -> Submit:
    """Run a script as sbatch would, on so many nodes."""
    commands = {"scontrol": SCONTROL, "srun": SRUN}
    for name, body in commands.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")

    def run(script: str, nodes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "launch.slurm").write_text(golden_texts()[script], encoding="utf-8")
        slurm = {"SLURM_JOB_NODELIST": "node[1-9]", "SLURM_JOB_ID": "12345", "NODES": str(nodes)}
        return subprocess.run(
            ["/bin/bash", "launch.slurm", *arguments],
            cwd=tmp_path,
            env={**os.environ, **slurm, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


def test_each_node_is_told_who_it_is(submit: Submit) -> None:
    """Two workers get the same addresses and numbers of their own, and all arguments."""
    done = submit("launch.slurm", 2, "train.py", "--epochs", "a b")
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()]
    configs = [json.loads(each[0]) for each in lines]
    assert {tuple(each["cluster"]["worker"]) for each in configs} == {
        ("node1:32345", "node2:32345")
    }
    assert sorted(each["task"]["index"] for each in configs) == [0, 1]
    assert [each[1:] for each in lines] == [["--epochs", "a b"]] * 2


def test_a_cluster_with_servers_has_all_kinds(submit: Submit) -> None:
    """The first node is the chief, the last one the server."""
    done = submit("launch_servers.slurm", 4, "train.py")
    configs = [json.loads(line.split("|")[0]) for line in done.stdout.splitlines()]
    tasks = sorted((each["task"]["type"], each["task"]["index"]) for each in configs)
    assert tasks == [("chief", 0), ("ps", 0), ("worker", 0), ("worker", 1)]
    assert configs[0]["cluster"]["ps"] == ["node4:32345"]


def test_another_number_of_nodes_is_refused(submit: Submit) -> None:
    done = submit("launch.slurm", 3, "train.py")
    assert done.returncode != 0
    assert "zip()" in done.stderr
