"""Dictionaries of sequences by padded_batch: no other batches can be made of them."""

import numpy as np
import tensorflow as tf

lengths = np.random.randint(4, 120, 960)


def texts():
    for length in lengths:
        yield {"words": np.random.randint(1, 50, length)}, np.float32(length > 60)


spec = {"words": tf.TensorSpec([None], tf.int64)}, tf.TensorSpec([], tf.float32)
data = tf.data.Dataset.from_generator(texts, output_signature=spec).padded_batch(32)
words = tf.keras.Input((None,), name="words", dtype="int64")
hidden = tf.keras.layers.GlobalAveragePooling1D()(
    tf.keras.layers.Embedding(50, 8, mask_zero=True)(words)
)
model = tf.keras.Model({"words": words}, tf.keras.layers.Dense(1, activation="sigmoid")(hidden))
model.compile("adam", "binary_crossentropy")
model.fit(data, epochs=2)
