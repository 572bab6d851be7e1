"""A small LSTM over short sequences, where several replicas can pay off on one machine.

A recurrent network is a long chain of small operations, which cannot fill two cores by itself.
With a large batch, MirroredStrategy over two logical CPUs therefore beats one device; with a
small one, the step is too short to repay the overhead. So the space must reach batches of 256
and more: `autotune spaces` shows the ready-made ones, `--space FILE` takes your own, and
`--global-batch 512` asks the question at one batch size.

    autotune tune examples/lstm.py:model_fn examples/lstm.py:dataset_fn
"""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 8192
TIMESTEPS = 32
FEATURES = 4


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile one LSTM layer with a binary output."""
    model = keras.Sequential(
        [
            keras.Input((TIMESTEPS, FEATURES)),
            keras.layers.LSTM(units),
            keras.layers.Dense(1),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random sequences, labelled by the sign of the sum of their first feature."""
    rng = np.random.default_rng(0)
    sequences = rng.standard_normal((EXAMPLES, TIMESTEPS, FEATURES), dtype=np.float32)
    labels = (sequences[:, :, 0].sum(axis=1, keepdims=True) > 0).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((sequences, labels))
