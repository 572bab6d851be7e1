"""A model with a training step of its own, dict inputs, sample weights, metrics and callbacks."""

import os
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 64


class Custom(keras.Model):
    """Trains by a step of its own, and reports a value of its own."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Not used by the step, so that the weights do not depend on it.
        self.seeds = keras.random.SeedGenerator(7)

    def train_step(self, data: Any) -> dict[str, Any]:
        """Take one step by half of the loss, which Keras would not do by itself."""
        inputs, labels, weights = data
        with tf.GradientTape() as tape:
            predictions = self(inputs, training=True)
            loss = 0.5 * self.compute_loss(inputs, labels, predictions, weights)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        metrics = self.compute_metrics(inputs, labels, predictions, weights)
        return {**metrics, "weight": tf.reduce_mean(weights)}


class Calls(keras.callbacks.Callback):
    """Writes down how it is called; on worker 1 it also ends the training in the second epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = 0
        self.stops = '"index": 1' in os.environ.get("TF_CONFIG", "")

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        del logs
        note(f"seed {self.model.seeds.state.numpy().tolist()}")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Count a call, and stop in the middle of the second epoch."""
        assert "weight" in (logs or {}), f"batch {batch} has no logs"
        self.batches += 1
        self.model.stop_training = self.stops and self.batches == 10

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        note(f"epoch {epoch}: {self.batches} calls, {' '.join(sorted(logs or {}))}")
        if self.stops and epoch == 1:
            self.model.stop_training = True


def note(line: str) -> None:
    with Path(os.environ["CALLS"]).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def model_fn() -> keras.Model:
    numbers = keras.Input((4,), name="numbers")
    kind = keras.Input((), dtype="int32", name="kind")
    joined = keras.layers.Concatenate()([numbers, keras.layers.Embedding(3, 4)(kind)])
    model = Custom({"numbers": numbers, "kind": kind}, keras.layers.Dense(1)(joined))
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", weighted_metrics=["mae"])
    return model


def dataset_fn(input_context: tf.distribute.InputContext) -> tf.data.Dataset:
    """Return every n-th example, where n is the number of pipelines."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((EXAMPLES, 4)).astype(np.float32)
    kinds = rng.integers(3, size=EXAMPLES).astype(np.int32)
    labels = numbers.sum(axis=1, keepdims=True) + kinds[:, np.newaxis]
    weights = (1 + kinds).astype(np.float32)
    everything = ({"numbers": numbers, "kind": kinds}, labels.astype(np.float32), weights)
    dataset = tf.data.Dataset.from_tensor_slices(everything)
    return dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)


def callbacks_fn(**options: bool) -> list[keras.callbacks.Callback]:
    del options
    return [Calls()]
