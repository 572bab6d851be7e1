"""Padded batches that are to be taken apart (--unbatch): their examples make no others."""

import numpy as np
import tensorflow as tf


def dataset_fn():
    lengths = np.random.default_rng(0).integers(4, 120, 1536)
    words = tf.RaggedTensor.from_row_lengths(np.ones(lengths.sum(), "int32"), lengths)
    texts = tf.data.Dataset.from_tensor_slices((words, (lengths > 60).astype("float32"))).batch(32)
    return texts.map(lambda rows, y: (rows.to_tensor(), y))


def model_fn():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(50, 8),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    return model
