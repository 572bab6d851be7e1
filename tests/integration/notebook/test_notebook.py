"""A search in a real kernel, executed as Jupyter would."""

import pytest

from autotune.result.view import PHASES
from autotune.trial import Stage

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = pytest.mark.real
SEARCH = """
import time
from autotune import autotune
from tests.engines.fake import FakeEngine

def speed(configuration):
    time.sleep(0.1)
    return 1000.0 * configuration.replicas / configuration.processes

def model_fn(): ...
def dataset_fn(): ...

result = autotune(model_fn, dataset_fn, space="quick", engine=FakeEngine(speed))
"""

VALUES = """
import keras
import numpy as np

x, y = np.ones((256, 8), "float32"), np.ones((256, 1), "float32")
kernel = np.full((8, 4), 0.5, "float32")

class Sees(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("the sum of x is", x.sum())

seen = Sees()

def model_fn():
    first = keras.layers.Dense(4, use_bias=False)
    model = keras.Sequential([keras.Input((8,)), first, keras.layers.Dense(1)])
    first.set_weights([kernel])
    model.compile("sgd", "mse")
    return model

def dataset_fn():
    return x, y

def callbacks_fn():
    return [seen]
"""
"""Functions that read arrays and an object of their cell, which no file can hold."""
OF_VALUES = """
from autotune import autotune
from tests.engines.fake import FAKE_FACTS, FakeEngine
from autotune.workload import Returned

facts = FAKE_FACTS.model_copy(
    update={"examples": 256, "returned": Returned(arrays=True, arguments=True)}
)
engine = FakeEngine(lambda _: 1000.0, facts=facts)
result = autotune(
    model_fn, dataset_fn, callbacks_fn=callbacks_fn, space="quick", max_trials=2, engine=engine
)
"""


def test_values_of_a_cell_are_trained_with_and_missed_beforehand() -> None:
    """The program of a file will lack them, which is told before the first trial."""
    cells = [
        nbformat.v4.new_code_cell(each) for each in (VALUES, OF_VALUES, "result.fit(epochs=1)")
    ]
    client = nbclient.NotebookClient(
        nbformat.v4.new_notebook(cells=cells), timeout=500, kernel_name="python3"
    )
    client.execute()
    _, progress, training = (each.outputs for each in client.nb.cells)
    search = "".join(each.data["text/plain"] for each in progress)
    trained = "".join(each.text for each in training)
    told, _, _ = search.partition("measured")
    for each in (
        "kernel of model_fn",
        "x, y of dataset_fn",
        "seen of callbacks_fn",
        "result.fit()",
    ):
        assert each in told
    assert "the sum of x is 2048" in trained
    assert "loss" in trained


def test_a_search_tells_its_progress_and_then_its_result() -> None:
    """Phases and trials stand in one output below the search, the answer below the result."""
    cells = [nbformat.v4.new_code_cell(source) for source in (SEARCH, "result")]
    client = nbclient.NotebookClient(
        nbformat.v4.new_notebook(cells=cells), timeout=500, kernel_name="python3"
    )
    client.execute()
    search, result = (each.outputs for each in client.nb.cells)
    [progress] = search
    assert progress.output_type == "display_data"
    told = progress.data["text/plain"]
    assert all(phase in told for phase in (PHASES[Stage.BASELINE], PHASES[Stage.EXPLORE]))
    assert "measured" in told
    shown = "".join(each.data["text/html"] for each in result)
    assert "Distribute: MirroredStrategy" in shown
    assert "recommended" in shown
