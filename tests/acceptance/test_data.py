"""What is told of the data of programs as people bring them, and what is made of their batches."""

import json
from pathlib import Path

import pytest

from tests.running import python

from .conftest import FIELD, Run, counted

pytestmark = pytest.mark.real

DATA = FIELD / "data"
OWN_BATCH = ("--space", "quick", "--objective", "throughput")
ON_TWO = """
strategies: [one_device, mirrored]
axes:
  per_replica_batch: [32]
  steps_per_execution: [1]
  replicas_per_worker: [2]
"""


@pytest.mark.parametrize(("name", "examples"), [("filtered_rows", 2000), ("last_smaller", 4500)])
def test_examples_that_can_be_counted_are_told_exactly(run: Run, name: str, examples: int) -> None:
    """Those of the last, smaller batch too, and in every rule that rests on them."""
    done = run("tune", DATA / f"{name}.py", "--dry-run", "--space", "quick")
    assert f"\n{examples:,} examples of " in done.stdout, done.stderr
    assert f"at most {examples:,}" not in done.stdout
    assert "of at most" not in done.stdout


@pytest.mark.parametrize(
    ("name", "examples", "updates"),
    [("windows_of_series", 1191, 10), ("repeated_thrice", 3573, 114)],
)
def test_the_program_makes_as_many_updates_as_the_script(
    run: Run, tmp_path: Path, name: str, examples: int, updates: int
) -> None:
    """At its own batch, however many of its batches are smaller; each makes two epochs."""
    script = DATA / f"{name}.py"
    asked = ("--json", "--out", tmp_path, *OWN_BATCH, "--strategies", "one_device")
    done = run("tune", script, *asked, *counted(1, 400))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["facts"]
    assert (facts["examples"], facts["count"]) == (examples, "exact")
    told = f"updates {2 * updates}\n"
    assert told in python(DATA, script)
    assert told in python(DATA, tmp_path / "train.py")


def test_batches_that_cannot_be_made_anew_stay(run: Run) -> None:
    """They are the only ones of a plan, and any other is refused before something runs."""
    done = run("tune", DATA / "padded_dict.py", "--dry-run", "--json", "--space", "quick")
    plan = json.loads(done.stdout)
    assert plan["facts"]["fit"]["only_batch"] == plan["facts"]["usual_batch"] == 32
    assert not any(a["name"] == "per_replica_batch" for s in plan["strategies"] for a in s["axes"])
    asked = ("--global-batch", "64", *counted(1, 400))
    refused = run("tune", DATA / "padded_batches.py", *asked)
    assert refused.returncode == 2
    assert "only train with its own batches of 32, not with a global batch of 64" in refused.stderr
    apart = [f"{DATA / 'taken_apart.py'}:{name}_fn" for name in ("model", "dataset")]
    refused = run("tune", *apart, "--unbatch", "--dry-run")
    assert refused.returncode != 0
    assert "The examples cannot be batched" in refused.stderr


def test_the_nearest_batch_that_divides_is_tried(run: Run, tmp_path: Path) -> None:
    """Two replicas train with 264 in place of 265, which is said as the change that it is."""
    (tmp_path / "two.yaml").write_text(ON_TWO)
    asked = ("--json", "--space", tmp_path / "two.yaml", "--objective", "throughput")
    out = ("--out", tmp_path, *counted(3, 1000))
    done = run("tune", DATA / "odd_batch.py", *asked, *out)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    told = "264 in place of 265, 0.4 % smaller, as 265 is odd and Keras's fit needs equal replicas"
    assert told in found["summary"]
    batches = {t["configuration"]["replicas_per_worker"]: t for t in found["trials"]}
    assert batches[2]["configuration"]["per_replica_batch"] == 132
    assert batches[2]["outcome"] in ("measured", "pruned")
