"""A real look at gradients, against a model whose gradients are known."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autotune.config import Configuration
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import LearningRequest, trial_request
from autotune.learning import Learning, Unpredictable
from autotune.workload import WorkloadFacts

from .conftest import in_module

pytestmark = pytest.mark.real

Learn = Callable[..., Learning]
TEXT = """
import keras, numpy as np, tensorflow as tf
draw = np.random.default_rng(0)
X = draw.normal(0, 1, (4096, 8)).astype("float32")
Y = (X[:, :1] + draw.normal(0, 3, (4096, 1))).astype("float32")
def dataset_fn():
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(4096)
def quick():
    return 0.1
class Own(keras.Sequential):
    def train_step(self, data):
        return super().train_step(data)
def model_fn():
    global model
    last = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = {kind}([keras.Input((8,)), {before} last])
    model.compile(optimizer={optimizer}, loss={loss})
    return model
def callbacks_fn():
    return [keras.callbacks.LambdaCallback({hooks})]
"""
STILL = {
    "optimizer": "keras.optimizers.SGD(0.0)",
    "loss": "'mse'",
    "kind": "keras.Sequential",
    "before": "",
    "hooks": "",
}
"""A model whose weights stay as they are."""
QUICKER = "lambda batch, logs: setattr(model.optimizer, 'learning_rate', 1e-6 * batch)"


@pytest.fixture
def learn(engine: LocalEngine, tmp_path: Path) -> Learn:

    def learn(**changed: str) -> Learning:
        workload = in_module(tmp_path, TEXT.format(**STILL | changed), "callbacks")
        facts, machine = WorkloadFacts(examples=4096), engine.machine()
        trial = trial_request(Configuration(), workload, facts, machine, tmp_path / "run")
        return engine.execute(LearningRequest(trial=trial, seconds=4.0))

    return learn


def test_gradients_that_are_known_are_found(learn: Learn) -> None:
    """With weights that stay at zero, the gradient of an example is -2 y x."""
    found = learn()
    assert found.refused is None
    draw = np.random.default_rng(0)
    x = draw.normal(0, 1, (4096, 8))
    gradients = -2 * (x[:, :1] + draw.normal(0, 3, (4096, 1))) * x
    trace, square = gradients.var(axis=0).sum(), (gradients.mean(axis=0) ** 2).sum()
    for probe in found.probes:
        assert probe.whole.trace == pytest.approx(trace, rel=0.25)
        assert probe.whole.square == pytest.approx(square, rel=0.5)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"kind": "Own"}, Unpredictable.OWN_STEP),
        ({"optimizer": "keras.optimizers.SGD(0.0, clipnorm=1e-6)"}, Unpredictable.CLIPPED),
        (
            {"optimizer": "keras.optimizers.SGD(0.0, gradient_accumulation_steps=2)"},
            Unpredictable.ACCUMULATED,
        ),
        ({"optimizer": "keras.optimizers.SGD(quick)"}, Unpredictable.SCHEDULED),
        ({"hooks": f"on_train_batch_end={QUICKER}"}, Unpredictable.SCHEDULED),
        ({"optimizer": "'adagrad'"}, Unpredictable.OPTIMIZER),
    ],
)
def test_what_no_formula_covers_is_refused(
    learn: Learn, changed: dict[str, str], why: Unpredictable
) -> None:
    assert learn(**changed).refused is why


def test_a_schedule_of_keras_is_looked_at(learn: Learn) -> None:
    """The program stretches it to the same examples."""
    decay = "keras.optimizers.schedules.CosineDecay(1e-6, 9)"
    found = learn(optimizer=f"keras.optimizers.SGD({decay})")
    assert found.refused is None


def test_gradients_that_grow_beyond_numbers_end_the_look(learn: Learn) -> None:
    """What was seen before they did counts; where they did so at once, there were too few."""
    found = learn(optimizer="keras.optimizers.SGD(1.2)")
    assert (found.refused, len(found.probes)) in {(None, 1), (Unpredictable.TOO_FEW, 0)}


def test_a_loss_of_zero_has_gradients_of_zero(learn: Learn) -> None:
    """A model that has learned all there is says nothing of other batches, and is looked at."""
    found = learn(loss="lambda y, p: 0.0 * keras.ops.mean(p * y, axis=-1)")
    assert [probe.whole.trace for probe in found.probes] == [0.0, 0.0]


def test_layers_with_a_state_are_looked_at_too(learn: Learn) -> None:
    """Normalization and dropout change variables of their own in every step."""
    layers = "keras.layers.BatchNormalization(), keras.layers.Dropout(0.1),"
    found = learn(optimizer="'adam'", before=layers)
    assert found.refused is None
