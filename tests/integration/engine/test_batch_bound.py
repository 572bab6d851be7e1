"""Models that are tied to their batches: a look finds state that is carried on, and fixed sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks.inspect import InspectionRequest
from autotune.workload import WorkloadFacts

from .conftest import Inspect, in_module

pytestmark = pytest.mark.real

HEAD = """
import keras, numpy as np, tensorflow as tf
from keras import layers, ops
x, y = np.random.rand(96, 6, 4).astype("float32"), np.ones((96, 1))
"""
FIT = """
model.compile({optimizer}, {loss})
model.fit(x, y, batch_size=12, shuffle=False)
"""
ACCUMULATES = "keras.optimizers.AdamW(gradient_accumulation_steps=4)"
INNER = "keras.optimizers.SGD(gradient_accumulation_steps=2)"
WITHIN = f"keras.optimizers.LossScaleOptimizer({INNER})"
FOLD = "layers.Lambda(lambda t: ops.reshape(ops.reshape(t, (12 * 6, 4)), (-1, 6, 4)))"
PAIRS = """
def pairs(_, found):
    return ops.mean((found - tf.reshape(tf.range(12.0), (12, 1))) ** 2)
"""


@pytest.fixture
def inspect(inspect_script: Inspect) -> Inspect:
    def inspect(
        *layers: str,
        first: str = "",
        size: str = "None",
        optimizer: str = "'sgd'",
        loss: str = "'mse'",
    ) -> WorkloadFacts:
        given = f"keras.Input(batch_shape=({size}, 6, 4))"
        stack = ", ".join([given, *layers, "layers.Flatten()", "layers.Dense(1)"])
        model = f"model = keras.Sequential([{stack}])"
        fit = FIT.format(optimizer=optimizer, loss=loss)
        return inspect_script(f"{HEAD}\n{first}\n{model}\n{fit}")

    return inspect


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        ("layers.Bidirectional(layers.GRU(3, stateful=True), name='both')", "layer both"),
        ("keras.Sequential([layers.SimpleRNN(3, stateful=True, name='inner')])", "layer inner"),
    ],
)
def test_state_that_is_carried_on_is_found(inspect: Inspect, layer: str, name: str) -> None:
    """A recurrent layer says so, however deep it lies."""
    facts = inspect(layer, size="12")
    assert facts.carried_state == name
    assert facts.fit
    assert facts.fit.only_batch == 12


@pytest.mark.parametrize(
    ("layers", "first", "loss"),
    [((FOLD,), "", "'mse'"), ((), PAIRS, "pairs")],
    ids=["a layer", "the loss"],
)
def test_a_size_that_is_built_in_is_found(
    inspect: Inspect, layers: tuple[str, ...], first: str, loss: str
) -> None:
    """Half of the batch cannot be trained, so no other one is tried."""
    facts = inspect(*layers, first=first, loss=loss)
    assert (facts.built_in_batch, facts.accumulated_steps) == (12, 1)
    assert facts.fit
    assert facts.fit.only_batch == 12


def test_a_declared_size_alone_is_not_built_in(inspect: Inspect) -> None:
    """Keras takes other batches too, where nothing depends on the size."""
    facts = inspect("layers.Dense(2)", size="12", optimizer=ACCUMULATES)
    assert (facts.carried_state, facts.built_in_batch, facts.accumulated_steps) == ("", None, 4)


def test_steps_of_an_optimizer_within_another_count(inspect: Inspect) -> None:
    assert inspect("layers.Dense(2)", optimizer=WITHIN).accumulated_steps == 2


def test_factories_are_tried_with_the_size_that_the_model_declares(
    engine: LocalEngine, tmp_path: Path
) -> None:
    """It is the user's own batch where nothing else says one."""
    text = (
        "import keras, numpy as np, tensorflow as tf\n"
        "def model_fn():\n"
        "    cells = keras.layers.GRU(3, stateful=True)\n"
        "    model = keras.Sequential([keras.Input(batch_shape=(12, 6, 4)), cells])\n"
        "    model.compile('sgd', 'mse')\n"
        "    return model\n"
        "def dataset_fn():\n"
        "    rows = np.ones((48, 6, 4), 'float32'), np.ones((48, 3), 'float32')\n"
        "    return tf.data.Dataset.from_tensor_slices(rows)\n"
    )
    facts = engine.execute(InspectionRequest(in_module(tmp_path, text)))
    assert (facts.usual_batch, facts.built_in_batch, facts.carried_state) == (12, 12, "layer gru")
