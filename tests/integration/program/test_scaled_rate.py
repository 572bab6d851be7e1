"""Programs with a scaled learning rate, run: at a batch of 64, compared with 32 at 1.41 times.

Some validate as well, with what their dataset factory returns beside.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.program import render
from autotune.workload import Returned, Workload, WorkloadFacts
from tests import golden
from tests.engines.fake import fake_learning
from tests.golden import CPUS, imported

from .conftest import Run as Train

pytestmark = pytest.mark.real

FACTOR, WARM = 1.41, 8
"""Steps of the warm-up."""
ONE = Configuration(per_replica_batch=64)
MIRRORED = golden.MIRRORED.but(per_replica_batch=32)
GANG = golden.TWO_WORKERS.but(per_replica_batch=32, shard_policy="data")
SERVED = golden.SERVED.but(per_replica_batch=64)
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, train: Train) -> Run:
    def run(
        configuration: Configuration,
        *arguments: str,
        callbacks: str = "",
        scheduled: bool = False,
        from_file: str = "",
        validates: bool = False,
    ) -> dict[str, Any]:
        model = {"rate": "steps" if scheduled else "constant", "from_file": from_file}
        workload = Workload(
            model=imported("model_fn", "rated", **model),
            dataset=imported("held_out" if validates else "dataset_fn", "rated"),
            callbacks=imported("callbacks_fn", "rated", kind=callbacks),
        )
        learning = fake_learning(64.0).model_copy(update={"scheduled": scheduled})
        facts = WorkloadFacts(examples=1024, learning=learning, returned=Returned(beside=validates))
        program, notes = render(configuration, workload, facts, CPUS), tmp_path / "notes.json"
        text = program.train.replace("warm_up=(64000, 0.056)", f"warm_up=({64 * WARM}, 1.0)")
        assert text != program.train
        program = program.model_copy(update={"train": text})
        train(tmp_path, program, "--verbose", "0", "--no-resume", *arguments, NOTES=str(notes))
        found: dict[str, Any] = json.loads(notes.read_text())
        return found

    return run


def ramp(steps: int, own: float = 1.0) -> float:
    """Return the rate of a step, the first being 1."""
    share = min(100 * steps // WARM, 100) / 100
    return own * (1 + (FACTOR - 1) * share)


@pytest.mark.parametrize(
    "configuration",
    [ONE, MIRRORED.but(reduction="one_device"), MIRRORED.but(steps_per_execution=2), GANG],
    ids=str,
)
def test_a_rate_rises_from_the_users_own(run: Run, configuration: Configuration) -> None:
    """By examples, and the weights move by it; between epochs it is the user's own.

    It is validated on all of the data, which fill no batch.
    """
    found = run(configuration, "--epochs", "2", "--steps-per-epoch", "8", validates=True)
    k = configuration.steps_per_execution
    expected = [ramp(step) for step in range(k, 17, k)]
    assert found["steps"] == pytest.approx(expected)
    assert found["epochs"] == pytest.approx([1.0, 1.0])
    assert found["weight"] == pytest.approx(-k * sum(expected))
    assert found["validated"] == pytest.approx([19.5 * found["weight"]], rel=1e-4)


def test_parameter_servers_have_the_scaled_rate(run: Run) -> None:
    """Some calls are under way before the chief changes it; there the callbacks are called."""
    found = run(SERVED, "--epochs", "2", "--steps-per-epoch", "16", validates=True)
    assert found["steps"][-1] == pytest.approx(FACTOR)
    assert found["epochs"] == pytest.approx([1.0, 1.0])
    assert len(found["steps"]) == 32
    assert found["validated"][0] < 0


def test_validation_may_be_left_out(run: Run) -> None:
    order = ("--epochs", "1", "--steps-per-epoch", "1", "--no-validation")
    assert run(ONE, *order, validates=True)["validated"] == []


def test_a_training_that_goes_on_from_a_checkpoint_warms_up_no_second_time(run: Run) -> None:
    """Not from what is saved between steps, and the rate is not multiplied twice."""
    run(ONE, "--epochs", "1", "--steps-per-epoch", "4", callbacks="backup")
    found = run(ONE, "--epochs", "1", "--steps-per-epoch", "8", callbacks="backup")
    assert found["steps"] == pytest.approx([ramp(4 + step) for step in range(1, 9)])
    assert found["epochs"] == pytest.approx([1.0])


def test_a_saved_model_has_the_users_own_rate(run: Run, tmp_path: Path) -> None:
    """So a program that begins with it multiplies that one."""
    saved = str(tmp_path / "saved.keras")
    run(ONE, "--epochs", "1", "--steps-per-epoch", "8", "--save", saved)
    found = run(ONE, "--epochs", "1", "--steps-per-epoch", "8", from_file=saved)
    assert found["steps"] == pytest.approx([FACTOR] * 8)
    assert found["epochs"] == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("kind", "own"), [("scheduler", [0.5, 0.25, 0.125]), ("plateau", [1.0, 1.0, 0.5])]
)
def test_callbacks_see_and_set_the_users_own_rate(run: Run, kind: str, own: list[float]) -> None:
    """What they set for an epoch is multiplied in its steps."""
    found = run(ONE, "--epochs", "3", "--steps-per-epoch", "8", callbacks=kind)
    expected = [ramp(step, own[(step - 1) // 8]) for step in range(1, 25)]
    assert found["steps"] == pytest.approx(expected)


@pytest.mark.parametrize("configuration", [ONE, MIRRORED.but(steps_per_execution=2)], ids=str)
def test_a_schedule_is_stretched_to_the_same_examples(
    run: Run, configuration: Configuration, tmp_path: Path
) -> None:
    """Its 16 steps of 32 examples are 8 of 64; a saved model holds the user's own."""
    saved = str(tmp_path / "saved.keras")
    order = ("--epochs", "2", "--steps-per-epoch", "8", "--save", saved)
    found = run(configuration, *order, scheduled=True)
    expected = [
        (1.0 if step <= 8 else 0.25) * (1 + (FACTOR - 1) * min(step / WARM, 1))
        for step in range(16)
    ]
    assert found["weight"] == pytest.approx(-sum(expected), rel=1e-5)
    again = run(ONE, "--epochs", "1", "--steps-per-epoch", "2", scheduled=True, from_file=saved)
    assert again["epochs"] == [0.25]
