"""Many parameters, little arithmetic: Dense 1024-1024-10 on 10,000 examples of 1,024 numbers.

At 64 examples per replica, every step exchanges 2.1 million gradients (8.4 MB) for less than a
billion operations of arithmetic. On one machine, or over a slow network, the exchange costs more
than the second worker saves. A larger batch per replica narrows the gap, because the exchange
stays the same size.

    autotune tune examples/wide_dense.py:model_fn examples/wide_dense.py:dataset_fn
"""

import keras
import numpy as np
import tensorflow as tf


def model_fn(units: int = 1024) -> keras.Model:
    """Build and compile a network with two wide hidden layers."""
    model = keras.Sequential(
        [
            keras.Input((1024,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random numbers, labelled by the largest of ten linear projections."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((10_000, 1024), dtype=np.float32)
    labels = (numbers @ rng.standard_normal((1024, 10))).argmax(axis=1)
    return tf.data.Dataset.from_tensor_slices((numbers, labels))
