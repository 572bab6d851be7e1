"""Real trainings to a loss on examples that are held out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.engine.tasks.train import trial_request
from autotune.engine.tasks.train_to_loss import TrainingRequest
from autotune.learning import Curve, Unraced, examples_to, lowest
from autotune.workload import Factory, Workload
from autotune.workload.script import script_from_text

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
BESIDE = """
whole = dataset_fn
def dataset_fn():
    return whole(), {beside}
"""
SCRIPT = """
import keras, numpy as np
draw = np.random.default_rng(0)
X = draw.normal(0, 1, (2400, 8)).astype("float32")
Y = (X[:, :1] > 0).astype("int64")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
loss = keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.SGD(0.1), loss=loss)
model.fit(X, Y, epochs=2, {given})
"""


@pytest.fixture
def train(engine: LocalEngine, tmp_path: Path) -> Train:
    """Return a function that trains a model to a loss."""
    runs = iter(range(9))

    def train(
        batch: int = 32,
        examples: int = 2048,
        rate: float = 0.1,
        beside: str = "",
        script: str = "",
        **given: object,
    ) -> Curve:
        text = BODY.format(examples=examples, rate=rate)
        text += BESIDE.format(beside=beside) if beside else ""
        path = tmp_path / f"trained{next(runs)}.py"
        path.write_text(SCRIPT.format(given=script) if script else text)
        made = {
            role: Factory(name=f"{role}_fn", module=path.stem, root=str(tmp_path))
            for role in ("model", "dataset")
        }
        workload, configuration = Workload(**made), Configuration(per_replica_batch=batch)
        if script:
            workload = workload.model_copy(update={"script": script_from_text(str(path))})
        facts = engine.execute(InspectionRequest(workload))
        # A script shuffles arrays anew, and its last batch that is not full is left out.
        assert facts.same_examples or script
        assert facts.validates is bool(beside or script)
        trial = trial_request(
            configuration, workload, facts, engine.machine(), tmp_path / path.stem
        )
        asked = {"look": 256, "most": 8192, "validates": facts.validates, **given}
        return engine.execute(TrainingRequest(trial=trial, examples=examples, **asked))

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


@pytest.mark.parametrize(
    ("beside", "count"),
    [
        ("(X[:100], Y[:100])", 100),
        ("tf.data.Dataset.from_tensor_slices((X[:100], Y[:100]))", 100),
        ("tf.data.Dataset.from_tensor_slices((X[:100], Y[:100])).batch(40)", 100),
        ("(np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0))", 2048),
    ],
)
def test_the_loss_is_that_of_what_the_user_validates_with(
    train: Train, beside: str, count: int
) -> None:
    """Nothing is held out then; of more than is needed, some are looked at."""
    found = train(beside=beside, most=1024)
    assert (found.held_out, [each.examples for each in found.looks]) == (
        count,
        [256, 512, 768, 1024],
    )


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("validation_split=0.25", 600),
        ("validation_data=(X[:64], Y[:64])", 64),
        ("validation_data=(X[:64], Y[:64], Y[:64, 0] * 0.5)", 64),
    ],
)
def test_a_script_validates_with_what_it_gives_to_fit(train: Train, given: str, count: int) -> None:
    """That is so with a part of its arrays, too, which no training sees."""
    found = train(script=given, examples=1800, most=1024)
    assert (found.held_out, len(found.looks)) == (count, 4)


def test_validation_data_that_ends_with_its_first_reading_is_refused(train: Train) -> None:
    """A generator would be empty at the second look."""
    found = train(beside="iter([(X, Y)])", most=1024)
    assert found.refused is Unraced.FAILED
    assert "ends with its first reading" in found.detail
