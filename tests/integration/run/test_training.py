"""Real trainings to a loss on examples that are held out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.learning import Curve, Unraced, examples_to, lowest
from autotune.run.engine import TrainingRequest
from autotune.run.local import LocalEngine
from autotune.run.requests import trial_request
from autotune.workload import Factory, Workload

pytestmark = pytest.mark.real

Train = Callable[..., Curve]
BODY = """
import keras, numpy as np, tensorflow as tf
draw = np.random.default_rng(0)
X = draw.normal(0, 1, ({examples}, 8)).astype("float32")
Y = (X[:, :1] > 0).astype("int64")
def dataset_fn():
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(4096).map(lambda x, y: (x, y))
def model_fn():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD({rate}), loss=loss)
    return model
"""


@pytest.fixture
def train(engine: LocalEngine, tmp_path: Path) -> Train:
    """Return a function that trains a model to a loss."""
    runs = iter(range(9))

    def train(batch: int = 32, examples: int = 2048, rate: float = 0.1, **given: object) -> Curve:
        (tmp_path / "trained.py").write_text(BODY.format(examples=examples, rate=rate))
        made = {
            role: Factory(name=f"{role}_fn", module="trained", root=str(tmp_path))
            for role in ("model", "dataset")
        }
        workload, configuration = Workload(**made), Configuration(per_replica_batch=batch)
        facts = engine.inspect(workload)
        assert facts.same_examples
        folder = tmp_path / str(next(runs))
        trial = trial_request(configuration, workload, facts, engine.machine(), folder)
        asked = {"look": 256, "most": 8192, **given}
        return engine.train(TrainingRequest(trial=trial, examples=examples, **asked))

    return train


def test_a_training_shows_how_its_loss_falls_and_ends_at_one(train: Train) -> None:
    """One example of eight is held out, and no training comes to more examples than it may."""
    whole = train()
    assert [each.examples for each in whole.looks] == list(range(256, 8192 + 1, 256))
    assert 2048 / 16 < whole.held_out < 2048 / 4
    loss = lowest(whole.looks)
    assert loss is not None
    assert loss < whole.looks[0].loss / 2
    halfway = whole.looks[16].loss
    again = train(loss=halfway)
    assert len(again.looks) < len(whole.looks)
    assert examples_to(again.looks, halfway) is not None
    assert again.held_out == whole.held_out


def test_what_never_comes_to_the_loss_ends_all_the_same(train: Train) -> None:
    """A training that diverges is over at once, and one that is too slow after its examples."""
    diverged = train(rate=1e38, loss=0.1)
    assert examples_to(diverged.looks, 0.1) is None
    slow = train(batch=512, rate=1e-6, loss=0.1)
    assert (slow.looks[-1].examples, examples_to(slow.looks, 0.1)) == (8192, None)


def test_too_few_examples_are_not_held_out(train: Train) -> None:
    """Their loss would tell nothing."""
    assert train(examples=64).refused is Unraced.FEW
