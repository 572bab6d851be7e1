"""The first step of a script's `fit`, which Keras makes with all that the script gives to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.engine.tasks.inspect import FirstStepRequest
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
FitStep = Callable[[str], float | None]


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
    seconds = fit_step(text)
    assert seconds
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
    assert fit_step(text) is None
