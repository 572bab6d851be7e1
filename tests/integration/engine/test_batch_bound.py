"""Models that are tied to their batches: a look finds state that is carried on, and fixed sizes."""

from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest
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
BOTH = "layers.Bidirectional(layers.GRU(3, stateful=True), name='both')"
DEEP = "keras.Sequential([layers.SimpleRNN(3, stateful=True, name='inner')])"
PAIRS = """
def pairs(_, found):
    return ops.mean((found - tf.reshape(tf.range(12.0), (12, 1))) ** 2)
"""
STEPS = """
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.make = keras.Sequential([keras.Input((5,)), layers.Dense(24), layers.Reshape((6, 4))])
        self.judge = keras.Sequential(
            [keras.Input((6, 4)), layers.Flatten(), layers.Dropout(0.3), layers.Dense(1)]
        )
        self.makes, self.judges = (keras.optimizers.Adam() for _ in range(2))

    {decorator}
    def train_step(self, data):
        x, size = data[0], tf.shape(data[0])[0]
        noise, same = tf.random.normal((size, 5)), keras.losses.BinaryCrossentropy(reduction=None)
        with tf.GradientTape(persistent=True) as tape:
            made = self.make(noise, training=True)
            real, faked = (tf.sigmoid(self.judge(each, training=True)) for each in (x, made))
            wrong = same(tf.ones((size, 1)), real) + same(tf.zeros((size, 1)), faked)
            judged = {judged}
            fooled = tf.reduce_mean(same(tf.ones((size, 1)), faked))
        for optimizer, loss, part in (
            (self.judges, judged, self.judge), (self.makes, fooled, self.make)
        ):
            found = tape.gradient(loss, part.trainable_variables)
            optimizer.apply_gradients(zip(found, part.trainable_variables))
        return {{"loss": judged}}

model = Pair()
model.compile()
model.fit(x, y, batch_size=32)
"""
WORDS = """
words = np.random.randint(0, 9, (96, 6))
model = keras.Sequential([layers.Embedding(9, 4), layers.Flatten(), layers.Dense(1)])
model.compile("adam", {loss})
model.fit(words, y, batch_size=32)
"""
AVERAGE = "tf.nn.compute_average_loss(wrong{})"
SUMMED = [
    STEPS.format(decorator="", judged=AVERAGE.format(", global_batch_size=32")),
    STEPS.format(decorator="@tf.function", judged="tf.reduce_sum(wrong) / 32"),
    WORDS.format(loss="lambda y, found: ops.sum((y - found) ** 2) / 32"),
    WORDS.format(loss="keras.losses.MeanAbsoluteError(reduction='sum')"),
]
AVERAGED = [
    STEPS.format(decorator="", judged=AVERAGE.format("")),
    STEPS.format(
        decorator="@tf.function", judged="tf.reduce_sum(wrong) / tf.cast(size, 'float32')"
    ),
    WORDS.format(loss="lambda y, found: ops.mean((y - found) ** 2)"),
    WORDS.format(loss="keras.losses.MeanAbsoluteError()"),
]


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
    ("layers", "given", "found"),
    [
        ((DEEP,), {"size": "12"}, {"carried_state": "layer inner"}),
        ((BOTH,), {"size": "12"}, {"carried_state": "layer both"}),
        ((FOLD,), {}, {"built_in_batch": 12, "accumulated_steps": 1}),
        ((), {"first": PAIRS, "loss": "pairs"}, {"built_in_batch": 12, "accumulated_steps": 1}),
    ],
    ids=["a state deep down", "two states", "a layer", "the loss"],
)
def test_what_ties_a_model_to_its_batch_is_found(
    inspect: Inspect, layers: tuple[str, ...], given: dict[str, str], found: dict[str, object]
) -> None:
    """A recurrent layer says so; where half of a batch cannot be trained, no other is tried."""
    facts = inspect(*layers, **given)
    assert facts.model_dump(include=set(found)) == found
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


@pytest.mark.parametrize(
    ("text", "summed"), [*((each, True) for each in SUMMED), *((each, False) for each in AVERAGED)]
)
def test_a_loss_that_grows_with_the_batch_is_found(
    inspect_script: Inspect, text: str, *, summed: bool
) -> None:
    """Duplicated examples double the gradients of a sum, whatever else in a step is random."""
    facts = inspect_script(f"{HEAD}\n{text}")
    assert (facts.summed_loss, facts.built_in_batch) == (summed, None)
