"""Bookings that a Python generator makes from rows of text, for a network of dense layers."""

from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

ROWS = 8192
COLUMNS = 24


def model_fn(units: int = 96) -> keras.Model:
    """Build and compile three dense layers with a binary output."""
    model = keras.Sequential([keras.Input((COLUMNS,))])
    for _ in range(3):
        model.add(keras.layers.Dense(units, activation="gelu"))
    model.add(keras.layers.Dense(1))
    model.compile(optimizer="adamw", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn(input_context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Return bookings with whether each was disputed, each worker its own share of them."""
    shards = input_context.num_input_pipelines if input_context is not None else 1
    shard = input_context.input_pipeline_id if input_context is not None else 0
    amounts = np.random.default_rng(0).lognormal(3, 1, (ROWS, COLUMNS))
    lines = [";".join(f"{amount:.2f}" for amount in row) for row in amounts]

    def bookings() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number in range(shard, ROWS, shards):
            values = np.log1p([float(field) for field in lines[number].split(";")])
            disputed = float(values.sum() > 3.1 * COLUMNS)
            yield values.astype(np.float32), np.array([disputed], np.float32)

    signature = (tf.TensorSpec((COLUMNS,), tf.float32), tf.TensorSpec((1,), tf.float32))
    return tf.data.Dataset.from_generator(bookings, output_signature=signature)
