"""What cannot run by itself is refused before anything is timed, in Keras's own words."""

import json

import pytest

from .conftest import FIELD, Run

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("numpy_iterator_fit", 11, "ValueError: Unrecognized data type"),
        ("class_weight_distributed", 13, "AttributeError: 'DistributedDataset'"),
        ("fit_workers", 17, ".fit() got an unexpected keyword argument 'workers'"),
    ],
)
def test_a_fit_that_fails_by_itself_is_refused(run: Run, name: str, line: int, words: str) -> None:
    """The error is Keras's, with the line; no name of this program's stands in it."""
    done = run("tune", FIELD / f"{name}.py", "--dry-run")
    said = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert f"The fit in line {line} fails by itself: " in said
    assert words in said
    assert "Call." not in said
    assert ("keras-2-call" in said) == (name == "fit_workers")


def test_what_is_said_of_a_script_is_what_it_does(run: Run) -> None:
    """Its step is made by two Adams and no loss of compile's, and nobody speaks of a dataset_fn."""
    done = run("tune", FIELD / "two_optimizers.py", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["facts"]
    assert (facts["optimizer"], facts["loss"]) == ("Adam", "")
    assert facts["first_step_seconds"] > 0
    assert "_fn" not in done.stdout + done.stderr
