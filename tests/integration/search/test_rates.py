"""What a real run reports, where sleeping makes the truth: load can only slow it a little."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.options import SearchOptions
from autotune.search.runner import Runner
from autotune.search.setup import Subject
from autotune.search.stopping import Budget
from autotune.search.study import Study
from autotune.trial import Stage, Trial
from autotune.workload import Factory, InputPass, Workload, WorkloadFacts

pytestmark = pytest.mark.real

MODEL = """
import time
import keras, tensorflow as tf

class Sleeper(keras.Model):
    def train_step(self, data):
        with tf.control_dependencies([tf.py_function(lambda: time.sleep({step}), [], [])]):
            return super().train_step(data)

def model_fn():
    inputs = keras.Input((8,))
    model = Sleeper(inputs, keras.layers.Dense(1)(inputs))
    model.compile(optimizer="sgd", loss="mse")
    return model
"""
DATASET = """
import time
import numpy as np, tensorflow as tf

def slowly(x):
    time.sleep({example})
    return x

def read(x, y):
    return tf.ensure_shape(tf.py_function(slowly, [x], x.dtype), (8,)), y

def dataset_fn():
    ones = np.ones(({examples}, 8), "float32"), np.ones(({examples}, 1), "float32")
    return tf.data.Dataset.from_tensor_slices(ones).map(read){more}
"""
BATCH = 8
GANG = Configuration(
    strategy="multi_worker_mirrored",
    workers=2,
    per_replica_batch=BATCH // 2,
    shard_policy="data",
    cache="memory",
)
Timed = Callable[..., Trial]


@pytest.fixture
def timed(engine: LocalEngine, tmp_path: Path) -> Timed:
    """Return a function that times a training whose steps and examples take known seconds."""

    def timed(
        configuration: Configuration | None = None,
        *,
        step: float = 0.0,
        example: float = 0.0,
        examples: int = 150,
        more: str = "",
        first: InputPass | None = None,
    ) -> Trial:
        root = tmp_path / "user"
        root.mkdir()
        (root / "timed_model.py").write_text(MODEL.format(step=step))
        text = DATASET.format(example=example, examples=examples, more=more)
        (root / "timed_data.py").write_text(text)
        workload = Workload(
            model=Factory(name="model_fn", module="timed_model", root=str(root)),
            dataset=Factory(name="dataset_fn", module="timed_data", root=str(root)),
        )
        facts = WorkloadFacts(
            examples=examples,
            python_input=True,
            cached=".cache()" in more,
            first_pass=first,
            second_pass=first,
        )
        runner = Runner(
            engine,
            Subject(workload=workload, facts=facts, machine=engine.machine()),
            Study(),
            folder=tmp_path / "trials",
            budget=Budget(SearchOptions(budget=600.0), engine.now, engine.now()),
            observer=lambda _: None,
        )
        trial = runner.run(configuration or Configuration(per_replica_batch=BATCH), Stage.EXPLORE)
        assert trial.measured, trial
        return trial

    return timed


def test_a_sleeping_step_sets_the_rate(timed: Timed) -> None:
    rate = timed(step=0.2).examples_per_second or 0
    assert 25 < rate <= BATCH / 0.2 * 1.05


def test_a_cache_is_timed_as_later_epochs_run(timed: Timed) -> None:
    """What reads fifty examples a second at first trains several times as fast from memory."""
    first = InputPass(examples=80, seconds=1.6, whole=True, pause=0.0)
    trial = timed(GANG, example=0.02, examples=80, first=first)
    assert trial.filled == 80
    assert (trial.examples_per_second or 0) > 60


def test_a_cache_that_takes_long_holds_fewer(timed: Timed) -> None:
    """Of a minute's examples a few seconds' are cached, which shows how fast later epochs are."""
    first = InputPass(examples=50, seconds=2.0, whole=False, pause=0.0)
    trial = timed(example=0.04, examples=1500, more=".cache()", first=first)
    assert 0 < (trial.filled or 0) < 500
    assert (trial.examples_per_second or 0) > 30


def test_a_shuffle_that_refills_counts(timed: Timed) -> None:
    """An epoch takes at least as long as reading its examples, however its windows fall."""
    first = InputPass(examples=100, seconds=0.5, whole=True, pause=0.375)
    trial = timed(example=0.005, examples=100, more=".shuffle(75)", first=first)
    assert 0 < (trial.examples_per_second or 0) <= 210
    assert any(window.ends for window in trial.windows[trial.steady_from or 0 :])
