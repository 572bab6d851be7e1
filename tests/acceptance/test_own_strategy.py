"""A script that makes a strategy of its own, from the command to the program that trains as it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .conftest import FIELD, Run, counted, train

pytestmark = pytest.mark.real

SPACE = """
strategies: [one_device, multi_worker_mirrored]
axes:
  per_replica_batch: [8, 16]
  steps_per_execution: [32]
  workers: [2]
  shard_policy: [data]
"""


def test_its_strategy_gives_way_and_its_epochs_stay(run: Run, tmp_path: Path) -> None:
    """Two workers are tried although it validates, and the program makes 3 epochs of 63 steps."""
    shutil.copy(FIELD / "strategy_of_its_own.py", tmp_path / "train.py")
    (tmp_path / "space.yaml").write_text(SPACE)
    asked = ("--space", tmp_path / "space.yaml", "--no-diagnose", "--global-batch", "16", "--json")
    done = run("tune", tmp_path / "train.py", *asked, *counted(4, 1000), "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "MirroredStrategy in line 10 is taken out" in " ".join(done.stderr.split())
    read = json.loads(done.stdout)
    workers = {each["configuration"]["workers"]: each["outcome"] for each in read["trials"]}
    assert workers[1] == "measured"
    assert workers[2] in ("measured", "pruned")
    assert read["facts"]["fit"]["own_strategy"]["title"] == "MirroredStrategy"
    assert any("MirroredStrategy in line 10" in each for each in read["reasons"])
    program = "launch.py" if read["configuration"]["workers"] > 1 else "train.py"
    train(tmp_path / "out" / program, tmp_path)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found == {"updates": 3 * 63, "validated": 3, "evaluated": 2}
