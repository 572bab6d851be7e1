"""Programs with the user's own factories, as they are handed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune.config import Configuration
from autotune.program import render
from autotune.workload import (
    Factory,
    FitData,
    FitFacts,
    Script,
    Workload,
    WorkloadFacts,
    factory_from_callable,
    factory_from_text,
    script_workload,
)
from tests.golden import CPUS, MIRRORED, TWO_WORKERS, deliver

from .conftest import start

pytestmark = pytest.mark.real

FACTS = WorkloadFacts(examples=64)
FILE = """\
import keras
import tensorflow as tf


def model_fn():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def dataset_fn():
    return tf.data.Dataset.from_tensors((tf.zeros(4), tf.zeros(1))).repeat(64)
"""


def factories_by_value() -> dict[str, Factory]:
    """Return factories as a notebook has them, with helpers of odd names."""
    import keras  # noqa: PLC0415 - slow
    import tensorflow as tf  # noqa: PLC0415 - slow

    def software() -> int:
        return 4

    def platform() -> int:
        return 1

    def make() -> Any:
        layers = [keras.Input((software(),)), keras.layers.Dense(platform())]
        model = keras.Sequential(layers)
        model.compile("sgd", "mse")
        return model

    def main() -> Any:
        example = (tf.zeros(software()), tf.zeros(platform()))
        return tf.data.Dataset.from_tensors(example).repeat(64)

    return {"model": factory_from_callable(make), "dataset": factory_from_callable(main)}


def test_a_gang_keeps_the_names_of_a_notebooks_helpers(tmp_path: Path) -> None:
    """Helpers called `software` and `platform` serve the factories, and workers compare theirs."""
    workload = Workload(**factories_by_value())
    program = render(TWO_WORKERS.but(shard_policy="data"), workload, FACTS, CPUS)
    deliver(tmp_path / "train.py", program.train, program.launch)
    assert "loss:" in start(tmp_path, "launch.py", cwd=tmp_path)


def test_a_program_runs_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its factories lie above the output folder, and it is started from elsewhere."""
    project, elsewhere = tmp_path / "my 'project'", tmp_path / "elsewhere"
    (project / "deep").mkdir(parents=True)
    elsewhere.mkdir()
    (project / "deep" / "mine.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(project)
    workload = Workload(
        model=factory_from_text("deep/mine.py:model_fn"),
        dataset=factory_from_text("deep/mine.py:dataset_fn"),
    )
    out = project / "autotune-out"
    out.mkdir()
    text = render(Configuration(), workload, FACTS, CPUS).train
    deliver(out / "train.py", text)
    assert "loss:" in start(out, out / "train.py", cwd=elsewhere)


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


def test_a_generator_that_ends_gives_every_batch(tmp_path: Path) -> None:
    """Also to a loop, which creates the variables from a batch before it trains."""
    (tmp_path / "mine.py").write_text(ENDS)
    fit = FitFacts(data=FitData.GENERATOR)
    facts = WorkloadFacts(examples=64, usual_batch=8, dataset_takes=("batch_size",), fit=fit)
    pair = MIRRORED.but(steps_per_execution=2)
    text = render(pair, script_workload(Script(path="mine.py")), facts, CPUS).train
    deliver(tmp_path / "train.py", text)
    assert "updates: 8\n" in start(tmp_path, "train.py", cwd=tmp_path)
