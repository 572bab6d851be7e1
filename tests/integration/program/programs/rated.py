"""A model whose weight falls in each step by the learning rate, and callbacks that note it."""

import json
import os
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

NOTES = Path(os.environ.get("NOTES", os.devnull))


class Rates(keras.callbacks.Callback):
    """Notes the learning rate as steps have it, and as callbacks see it after an epoch."""

    def on_train_begin(self, logs: Any = None) -> None:
        del logs
        self.steps: list[float] = []
        self.epochs: list[float] = []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        del batch, logs
        self.steps.append(float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))

    def on_epoch_end(self, epoch: int, logs: Any) -> None:
        """Note the rate between epochs, and what all steps did to the weight."""
        del epoch
        self.epochs.append(float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)))
        weight = float(keras.ops.convert_to_numpy(self.model.trainable_variables[0])[0, 0])
        validated = [float(value) for name, value in logs.items() if name == "val_loss"]
        found = {"steps": self.steps, "epochs": self.epochs, "weight": weight}
        NOTES.write_text(json.dumps({**found, "validated": validated}))


def callbacks_fn(kind: str = "") -> list[keras.callbacks.Callback]:
    """Return callbacks of one kind, and one that notes."""
    folder = NOTES.parent
    kinds: dict[str, Any] = {
        "backup": lambda: keras.callbacks.BackupAndRestore(
            folder / "backup", save_freq=1, delete_checkpoint=False
        ),
        "scheduler": lambda: keras.callbacks.LearningRateScheduler(
            lambda epoch: 0.5 ** (epoch + 1)
        ),
        "plateau": lambda: keras.callbacks.ReduceLROnPlateau("loss", 0.5, 1, min_delta=1e9),
    }
    return [*([kinds[kind]()] if kind else []), Rates()]


def model_fn(rate: str = "constant", from_file: str = "") -> keras.Model:
    """Return a model whose gradient is always one, or the one in a file."""
    if from_file:
        return keras.models.load_model(from_file)
    rates = {
        "constant": lambda: 1.0,
        "steps": lambda: keras.optimizers.schedules.PiecewiseConstantDecay([16], [1.0, 0.25]),
    }
    dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), dense])
    model.compile(keras.optimizers.SGD(rates[rate]()), loss=mean)
    return model


@keras.saving.register_keras_serializable()
def mean(y_true: Any, y_pred: Any) -> Any:
    del y_true
    return keras.ops.mean(y_pred, axis=-1)


def dataset_fn() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((np.ones((1024, 1)), np.ones((1024, 1))))


def held_out() -> tuple[tf.data.Dataset, tf.data.Dataset]:
    """Return examples, and fewer than a batch to validate with, whose mean is 19.5."""
    rows = np.arange(40.0)[:, np.newaxis]
    return dataset_fn(), tf.data.Dataset.from_tensor_slices((rows, rows))
