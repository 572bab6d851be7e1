"""What an example teaches at another batch than the user's own."""

import json
from pathlib import Path

import pytest

from .conftest import FIELD, Run

pytestmark = pytest.mark.real

OWN_STEP, OWN_LOSS = FIELD / "loss_over_batch_constant.py", FIELD / "loss_averaged_over.py"
SPACE = """
strategies: [one_device, mirrored]
axes:
  per_replica_batch: [16, 32, 64, 128, 256, 512]
  replicas_per_worker: [2]
"""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = tmp_path_factory.mktemp("spaces") / "batches.yaml"
    space.write_text(SPACE)
    return space


@pytest.mark.parametrize(
    ("script", "arguments", "free"),
    [(OWN_STEP, (), False), (OWN_LOSS, ("32",), False), (OWN_LOSS, ("mean",), True)],
    ids=["a train_step", "a loss", "a mean"],
)
def test_a_loss_over_a_constant_keeps_its_batch(
    run: Run, space: Path, script: Path, arguments: tuple[str, ...], *, free: bool
) -> None:
    """No search makes its gradients larger; two replicas may share the batch."""
    asked = ("--space", space, "--objective", "max_throughput", "--dry-run", "--json")
    done = run("tune", script, *asked, "--", *arguments)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    counts = {each["name"]: each["configurations"] for each in plan["strategies"]}
    assert counts == (
        {"one_device": 7, "mirrored": 6} if free else {"one_device": 1, "mirrored": 1}
    )


def test_a_batch_that_changes_the_gradients_is_refused(run: Run) -> None:
    """With the reason and a way out, before anything is tried."""
    done = run("tune", OWN_STEP, "--dry-run", "--global-batch", "512")
    assert done.returncode == 2
    assert "the loss is a sum over the batch, or divided by a constant" in done.stderr
    assert "compute_average_loss" in done.stderr
