"""The first step of a script's `fit`, which Keras makes with all that the script gives to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks import FirstStepRequest, FirstSteps, InspectionRequest
from autotune.errors import ScriptFailed

from .conftest import in_script

pytestmark = pytest.mark.real

HEAD = """
import keras, numpy as np, tensorflow as tf
x, y = np.ones((80, 8), "float32"), np.ones((80, 1))
rows = tf.data.Dataset.from_tensor_slices((x, y))
def made():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
model = made()
"""
FitStep = Callable[[str], FirstSteps]


@pytest.fixture
def fit_step(engine: LocalEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FitStep:
    monkeypatch.chdir(tmp_path)
    return lambda text: engine.execute(FirstStepRequest(in_script(tmp_path, HEAD + text)))


BATCHES = """
def batches():
    while True: yield x[:8], y[:8]
"""
OUTSIDE = """
with tf.distribute.MirroredStrategy().scope():
    model.fit(x, y)
"""
OWN_CALLBACK = """
class Best(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        print(logs["val_loss"])
model.fit(x, y, callbacks=[Best()])
"""
CAUGHT = """
try:
    model.fit(rows.batch(8), batch_size=8.5, validation_data=5)
except Exception:
    print("It is not as bad as it looks")
"""
OTHER_FIT = """
made().fit(x, y, nb_epoch=4)
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{BATCHES}model.fit(batches(), sample_weight=y)",
            "line 13 fails .*`sample_weights` should not",
        ),
        ("model.fit(x, y, validation_data=(x[:, :3], y), validation_freq=9)", "axis -1"),
        ("model.fit(x, y, callbacks=[keras.callbacks.CSVLogger('no/log.csv')])", "no/log.csv"),
        ("model.fit(x, y[:7])", "cardinality"),
        ("model.fit(x, y, epochs=2, initial_epoch=2)", "without a step.*initial_epoch"),
        (OUTSIDE, "line 12 fails by itself"),
        (OWN_CALLBACK, r"line 14 fails by itself: KeyError: .*val_loss.*train.py line 13\)"),
        (CAUGHT, "line 12 fails by itself"),
        (OTHER_FIT, r"line 11 fails by itself: TypeError: .*nb_epoch"),
        ("model.fit(x, y, workers=4)", r"'workers'.*`autotune doctor --explain keras-2-call`"),
    ],
)
def test_what_fails_by_itself_is_refused(fit_step: FitStep, text: str, words: str) -> None:
    """Whatever a trial would replace or leave out: data, validation, callbacks, the strategy."""
    with pytest.raises(ScriptFailed, match=words):
        fit_step(text)


KEPT = """
class Stops(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        assert logs["val_loss"] >= 0
best = keras.callbacks.ModelCheckpoint("best/{epoch}.weights.h5", save_weights_only=True)
with tf.distribute.MirroredStrategy().scope():
    model = made()
model.fit(x, y, 16, epochs=10**6, validation_split=0.2, callbacks=[Stops(), best])
"""
ENDLESS = f"""
{BATCHES}
model.fit(batches(), steps_per_epoch=10**6, validation_data=rows.batch(8).repeat())
"""


@pytest.mark.parametrize("text", [KEPT, ENDLESS])
def test_a_fit_that_trains_ends_after_its_first_step(
    fit_step: FitStep, tmp_path: Path, text: str
) -> None:
    """However long it would take; nothing that it saves lies in the user's folder."""
    steps = fit_step(text)
    assert steps.first_step_seconds
    assert [each.name for each in tmp_path.iterdir()] == ["my train.py"]


CLUSTER = """
import json, os
cluster = {"worker": ["localhost:1111", "localhost:2222"]}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})
tf.distribute.MultiWorkerMirroredStrategy()
model.fit(x, y)
"""
DEVICES = "tf.distribute.MirroredStrategy(devices=['GPU:0', 'GPU:97'])\nmodel.fit(x, y)"


@pytest.mark.parametrize("text", [CLUSTER, DEVICES])
def test_a_strategy_for_other_machines_is_not_tried(fit_step: FitStep, text: str) -> None:
    """By itself it would wait for them, or fail for the want of a device."""
    assert fit_step(text) == FirstSteps()


SLOW = """
import time
class Slow(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs): time.sleep(0.3)
    def on_train_batch_end(self, batch, logs): time.sleep(2.0)
def slowly(*row):
    time.sleep(0.05)
    return row
typed = rows.map(lambda *row: tf.numpy_function(slowly, row, [tf.float32, tf.float64]))
typed = typed.map(lambda a, b: (tf.ensure_shape(a, [8]), tf.ensure_shape(b, [1])))
"""


def test_later_steps_tell_what_a_step_takes_and_callbacks_what_an_epoch_adds(
    fit_step: FitStep,
) -> None:
    """A step is timed without its callbacks, of which these take seconds."""
    steps = fit_step(f"{SLOW}model.fit(x, y, 16, callbacks=[Slow()])")
    assert steps.own_step_seconds is not None
    assert steps.own_step_seconds < 2.0
    assert steps.between_seconds >= 0.3


def test_a_validation_is_reckoned_from_some_of_its_batches(fit_step: FitStep) -> None:
    """It has eighty of 50 ms."""
    steps = fit_step(f"{SLOW}model.fit(x, y, 16, validation_data=typed.batch(1))")
    assert steps.between_seconds >= 0.5 * 80 * 0.05


def test_a_step_that_takes_longer_than_it_is_worth_is_not_waited_for(fit_step: FitStep) -> None:
    steps = fit_step(f"{SLOW}model.fit(typed.batch(40))")
    assert steps.first_step_seconds
    assert (steps.own_step_seconds, steps.facts) == (None, None)


DIES = """
import os, signal
class Once(keras.Sequential):
    def make_train_function(self, force=False):
        if self.train_function: os.kill(os.getpid(), signal.SIGSEGV)
        return super().make_train_function(force)
once = Once([keras.Input((8,)), keras.layers.Dense(1)])
once.compile("sgd", "mse")
once.fit(x, y)
"""


def test_a_process_that_dies_in_steps_beyond_the_first_leaves_that(fit_step: FitStep) -> None:
    steps = fit_step(DIES)
    assert steps.first_step_seconds
    assert (steps.own_step_seconds, steps.facts) == (None, None)


TWICE = """
class Own(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs): self.model.stop_training = logs["loss"] < 0.1
for epoch in range(3):
    model.fit(x, y, 16, validation_split=0.2, callbacks=[Own()])
"""
STOPPING = "model.fit(rows.batch(8), epochs=90, callbacks=[keras.callbacks.EarlyStopping('loss')])"
ON_CLOCKS = {"calling_seconds", "first_pass", "second_pass"}


@pytest.mark.parametrize(("text", "epochs", "loop"), [(TWICE, 1, 14), (STOPPING, 90, None)])
def test_a_run_up_to_the_fit_tells_what_another_would(
    engine: LocalEngine, tmp_path: Path, fit_step: FitStep, text: str, epochs: int, loop: int | None
) -> None:
    found = fit_step(text).facts
    other = engine.execute(InspectionRequest(in_script(tmp_path, HEAD + text)))
    assert found
    assert found.model_dump(exclude=ON_CLOCKS) == other.model_dump(exclude=ON_CLOCKS)
    assert found.fit
    assert (found.fit.epochs, found.fit.loop, found.fit.may_stop) == (epochs, loop, True)


@pytest.mark.parametrize(
    "text",
    [
        f"{BATCHES}model.fit(batches(), steps_per_epoch=3)",
        "tf.distribute.get_strategy()\nmodel.fit(x, y)",
        "with tf.distribute.MirroredStrategy().scope(): made().fit(x, y)",
        "model.fit(rows.batch(8).cache())",
    ],
)
def test_what_a_step_changes_is_inspected_in_another_process(fit_step: FitStep, text: str) -> None:
    steps = fit_step(text)
    assert steps.first_step_seconds
    assert steps.facts is None
