"""What a search says of programs as people bring them. Nothing here depends on speed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import FIELD, Run, counted

pytestmark = pytest.mark.real


def test_what_is_run_counts_and_the_sentence_follows_it(run: Run, tmp_path: Path) -> None:
    """A model with a train_step of its own is compared at its own batch, and nowhere else."""
    asked = ("--space", "quick", *counted(3, 800), "--json", "--out", tmp_path / "out")
    done = run("tune", FIELD / "step_of_its_own.py", *asked)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    ran = [each for each in read["trials"] if each["outcome"] != "skipped"]
    batches = {each["configuration"]["per_replica_batch"] * _replicas(each) for each in ran}
    assert batches == {64}
    assert (ran[0]["configuration"]["strategy"], _replicas(ran[0])) == ("one_device", 1)
    several = any(_replicas(each) > 1 and each["outcome"] in ("measured", "pruned") for each in ran)
    assert ("no distributed configuration was measured" in read["summary"]) is not several
    assert read["configuration"]["strategy"] != "one_device" or read["global_batch"] == 64


def test_a_budget_that_holds_no_step_is_told_with_a_number(run: Run, tmp_path: Path) -> None:
    """The step is not called a hang, and the next budget stands in the message."""
    script = FIELD / "traces_for_long.py"
    done = run("tune", script, "--space", "quick", "--budget", "20s", "--out", tmp_path / "out")
    assert done.returncode == 3, done.stderr
    assert "Looking at how the model learns" not in done.stderr
    assert re.search(r"the budget ran out .* had taken \d+ s by then", done.stderr)
    assert re.search(r"Use a budget of \d+\w+ or more \(--budget\)", done.stderr)


def _replicas(trial: dict[str, dict[str, int]]) -> int:
    return trial["configuration"]["workers"] * trial["configuration"]["replicas_per_worker"]
