"""Sequences are padded to the longest of their batch: no other batches can be made of them."""

import numpy as np
import tensorflow as tf

lengths = np.random.randint(4, 120, 1536).astype("int32")
words = tf.RaggedTensor.from_row_lengths(np.random.randint(1, 50, lengths.sum()), lengths)
texts = tf.data.Dataset.from_tensor_slices((words, (lengths > 60).astype("int32"))).batch(32)
texts = texts.map(lambda rows, y: (rows.to_tensor(), y))
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(50, 8, mask_zero=True),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy")
model.fit(texts, epochs=2)
