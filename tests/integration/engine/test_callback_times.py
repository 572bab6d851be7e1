"""What callbacks take is seen in a trial, whoever makes them and whichever hook they use."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.config import Configuration
from autotune.engine.base import RunResult, Stop
from autotune.engine.local import LocalEngine
from autotune.engine.tasks import InspectionRequest, trial_request
from autotune.reason import Outcome, PlainReason, ReasonKind
from autotune.shared_values import Window
from autotune.workload import Workload

from .conftest import MACHINE, in_module, in_script

pytestmark = pytest.mark.real

HEAD = """
import time, keras, numpy as np, tensorflow as tf
def model_fn():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): time.sleep(0.004)
class Quick(keras.callbacks.Callback):
    def on_batch_begin(self, batch, logs=None): time.sleep(0.001)
class Late(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): time.sleep(0.02)
"""
SLEEP = "lambda batch, logs: time.sleep(0.004)"
FIT = "model_fn().fit(np.ones((64, 8)), np.ones((64, 1)), batch_size=16, verbose=0, callbacks={})"


@pytest.fixture
def timed(engine: LocalEngine, tmp_path: Path) -> Callable[[Workload], RunResult]:

    def timed(workload: Workload) -> RunResult:
        facts = engine.execute(InspectionRequest(workload))
        configuration = Configuration(per_replica_batch=16)
        request = trial_request(configuration, workload, facts, MACHINE, tmp_path / "trial")
        return engine.execute(request, _some)

    return timed


def _some(windows: tuple[Window, ...]) -> Stop | None:
    return (
        Stop(Outcome.MEASURED, PlainReason(kind=ReasonKind.COMPLETED))
        if len(windows) >= 8
        else None
    )


def test_the_heaviest_comes_first_with_its_share_of_a_step(
    timed: Callable[[Workload], RunResult], tmp_path: Path
) -> None:
    """A sleep is a lower bound; what comes at the end of an epoch is spread over its steps."""
    asleep = f"keras.callbacks.LambdaCallback(on_train_batch_end={SLEEP})"
    callbacks = f"[Quick(), Slow(), Late(), {asleep}]"
    found = timed(in_script(tmp_path, HEAD + FIT.format(callbacks))).callback_seconds
    seconds = dict(found)
    assert [*seconds.values()] == sorted(seconds.values(), reverse=True)
    # Windows cut epochs, so that few of them may hold an end less than its share.
    lower = {"Quick": 0.001, "Slow": 0.004, "LambdaCallback": 0.004, "Late": 0.02 / 4}
    for name, least in lower.items():
        assert seconds[name] > 0.6 * least


def test_callbacks_of_a_factory_are_timed_too(
    timed: Callable[[Workload], RunResult], tmp_path: Path
) -> None:
    """And named, where they do something in a batch."""
    text = (
        HEAD + "def callbacks_fn(): return [Slow(), Late()]\n"
        "def dataset_fn():\n"
        "    return tf.data.Dataset.from_tensor_slices((np.ones((64, 8)), np.ones((64, 1))))\n"
    )
    found = timed(in_module(tmp_path, text, "callbacks"))
    assert {name for name, _ in found.callback_seconds} >= {"Slow", "Late"}


def test_only_callbacks_with_work_in_a_batch_are_named(engine: LocalEngine, tmp_path: Path) -> None:
    """Keras's own and those of epochs come as often as before, whatever a call holds."""
    callbacks = "[Late(), Slow(), keras.callbacks.ReduceLROnPlateau('loss'), Quick()]"
    given = in_script(tmp_path, HEAD + FIT.format(callbacks))
    facts = engine.execute(InspectionRequest(given))
    assert facts.batch_callbacks == ("Slow", "Quick")
