"""Too small to distribute: Dense 64-10 on 1,000 examples of 100 numbers.

A step on 32 examples takes a millisecond or two. Two workers need several times that to exchange
their gradients, so one device wins; a larger batch, or several steps per call, is what speeds
this program up.

    autotune tune examples/tiny_dense.py:model_fn examples/tiny_dense.py:dataset_fn
"""

import keras
import numpy as np
import tensorflow as tf


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a network with one small hidden layer."""
    model = keras.Sequential(
        [
            keras.Input((100,)),
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
    numbers = rng.standard_normal((1_000, 100), dtype=np.float32)
    labels = (numbers @ rng.standard_normal((100, 10))).argmax(axis=1)
    return tf.data.Dataset.from_tensor_slices((numbers, labels))
