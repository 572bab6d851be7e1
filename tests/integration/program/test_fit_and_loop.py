"""What a script's own fit does for each step and epoch, the program's fit and loop do as well.

The table in docs/scripts.md names a test for each row.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.program import render
from autotune.workload import FitData, FitFacts, Script, WorkloadFacts, script_workload
from tests.golden import CPUS, MIRRORED, deliver

from .conftest import HERE, Run

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

Done = dict[str, dict[str, Any]]
SCRIPT = "compared.py"
FACTS = WorkloadFacts(
    examples=64,
    eager=True,
    batch_callbacks=("Notes",),
    dataset_takes=("batch_size",),
    fit=FitFacts(line=57, data=FitData.ARRAYS, eager=52),
)
TWO_STEPS = Configuration(per_replica_batch=8, steps_per_execution=2)
PROGRAMS = {
    "fit": TWO_STEPS,
    "loop": TWO_STEPS.but(strategy="mirrored", replicas_per_worker=2, per_replica_batch=4),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, alone: Run) -> Done:
    """What the script noted by itself, and run by a program with fit and by one with a loop."""
    folder = tmp_path_factory.mktemp("compared")
    shutil.copy(HERE / "field" / SCRIPT, folder)
    workload = script_workload(Script(path=SCRIPT))
    found: Done = {}
    for name, configuration in PROGRAMS.items():
        text = render(configuration, workload, FACTS, CPUS).train
        deliver(folder / f"{name}.py", text)
    for name in ("compared", *PROGRAMS):
        to = folder / f"{name}.json"
        alone(folder / f"{name}.py", cwd=folder, DONE=str(to))
        found[name] = json.loads(to.read_text())
    return found


def hooks(found: dict[str, Any], *names: str) -> list[list[Any]]:
    return [each for each in found["notes"] if each[0] in names]


def test_callbacks_are_called_in_the_same_order_with_the_same_logs(done: Done) -> None:
    """Once for each call of several steps, with numbers."""
    assert done["fit"]["notes"] == done["loop"]["notes"]
    ends = hooks(done["loop"], "batch end")
    assert [each[1] for each in ends] == [1, 3, 5, 7] * 2
    assert ends[0][2:] == [["accuracy", "loss"], ["float"]]


def test_callbacks_of_epochs_are_those_of_the_script(done: Done) -> None:
    """From initial_epoch on, with what the validation has found, until one of them stops it."""
    outer = ("train begin", "epoch begin", "epoch end")
    own, *others = [hooks(done[name], *outer) for name in ("compared", *PROGRAMS)]
    assert others == [own, own]
    assert own[-1][2] == ["accuracy", "loss", "val_accuracy", "val_loss"]


def test_the_history_is_that_of_the_script(done: Done) -> None:
    """Metrics are counted anew in each epoch, over all replicas, with class weights."""
    for name in PROGRAMS:
        assert done[name]["epochs"] == done["compared"]["epochs"] == [1, 2]
        for metric, values in done["compared"]["history"].items():
            assert done[name]["history"][metric] == pytest.approx(values, abs=1e-4)


def test_the_weights_are_those_of_the_script(done: Done) -> None:
    """Every batch is trained on once, whatever an earlier fit has compiled."""
    for name in PROGRAMS:
        assert done[name]["updates"] == done["compared"]["updates"] == 16
        for one, other in zip(done[name]["weights"], done["compared"]["weights"], strict=True):
            assert np.allclose(one, other, atol=1e-4)


def test_a_step_is_compiled_on_both_sides(done: Done) -> None:
    """The script runs its step eagerly, once for each batch; the programs trace it."""
    assert done["compared"]["traced"] == 16
    assert all(0 < done[name]["traced"] < 8 for name in PROGRAMS)


def test_the_model_is_left_as_the_script_has_set_it(done: Done) -> None:
    """Settings for the tuned fit end with it."""
    for name in PROGRAMS:
        assert done[name]["after"] == done["compared"]["after"] == [1, False, True]


ENDS = """
import keras, numpy as np

def batches():
    for number in range(8):
        yield np.full((8, 4), number, "float32"), np.zeros((8, 1), "float32")

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches())
print("updates:", int(model.optimizer.iterations.numpy()))
"""


def test_a_generator_that_ends_gives_every_batch(train: Run, tmp_path: Path) -> None:
    """Also to a loop, which creates the variables from a batch before it trains."""
    (tmp_path / "mine.py").write_text(ENDS)
    fit = FitFacts(data=FitData.GENERATOR)
    facts = WorkloadFacts(examples=64, usual_batch=8, dataset_takes=("batch_size",), fit=fit)
    pair = MIRRORED.but(steps_per_execution=2)
    program = render(pair, script_workload(Script(path="mine.py")), facts, CPUS)
    assert "updates: 8\n" in train(tmp_path, program, cwd=tmp_path)
