"""Scripts that run their model eagerly: a look finds the line, and whether it can be compiled."""

import pytest

from .conftest import Inspect

pytestmark = pytest.mark.real

HEAD = """
import keras, numpy as np, tensorflow as tf
x, y = np.ones((80, 8), "float32"), np.ones((80, 1))
stack = [keras.Input((8,)), keras.layers.Dense(1)]
"""
OWN = """
class Own(keras.Sequential):
    def train_step(self, data):
        logs = super().train_step(data)
        return {{**logs, "twice": {}}}
"""
FUNCTION = """
class Own(keras.Sequential):
    def make_train_function(self, force=False):
        step = tf.function(lambda iterator: self.train_step(next(iterator)))
        self.train_function = step
"""


@pytest.fixture
def inspect(inspect_script: Inspect) -> Inspect:
    return lambda text: inspect_script(f"{HEAD}{text}\nmodel.fit(x, y, batch_size=16)\n")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["model.compile('sgd', 'mse', run_eagerly=True)"], 6),
        (["model.compile('sgd', 'mse')", "model.run_eagerly = True"], 7),
        (["tf.config.run_functions_eagerly(True)", "model.compile('sgd', 'mse')"], 6),
    ],
)
def test_the_line_that_asks_for_it_is_found(inspect: Inspect, lines: list[str], line: int) -> None:
    """However it is asked for; a model whose step can be compiled is told apart."""
    facts = inspect("\n".join(["model = keras.Sequential(stack)", *lines]))
    assert facts.fit
    assert (facts.eager, facts.fit.eager) == (True, line)
    assert facts.uncompilable == ""


@pytest.mark.parametrize(
    ("made", "asked", "xla", "own"),
    [
        ("Own", "run_eagerly=False", False, True),
        ("keras.Sequential", "jit_compile=True", True, False),
    ],
)
def test_the_xla_that_keras_takes_is_found(
    inspect: Inspect, made: str, asked: str, *, xla: bool, own: bool
) -> None:
    """By itself it takes none on CPUs; what it compiles is not eager.

    A train function of the model's own is told apart, which only Model.fit calls.
    """
    facts = inspect(f"{FUNCTION}model = {made}(stack)\nmodel.compile('sgd', 'mse', {asked})")
    assert facts.fit
    assert (facts.jit_compile, facts.eager, facts.fit.eager) == (xla, False, None)
    assert facts.own_train_function is own


@pytest.mark.parametrize("value", ["logs['loss'].numpy()", "1 if logs['loss'] > 2 else 0"])
def test_a_step_that_needs_eager_execution_says_why(inspect: Inspect, value: str) -> None:
    """With the error that compiling it raises, and its line."""
    compiled = "model = Own(stack)\nmodel.compile('sgd', 'mse', run_eagerly=True)"
    facts = inspect(OWN.format(value) + compiled)
    assert facts.eager
    assert "in my train.py line 9" in facts.uncompilable
