"""By itself: ValueError, "Unrecognized data type ... NumpyIterator" under Keras 3."""

import numpy as np
import tensorflow as tf

rows = tf.data.Dataset.from_tensor_slices(
    (np.random.rand(600, 6).astype("float32"), np.random.rand(600, 1))
)
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(rows.batch(10).as_numpy_iterator(), epochs=2, steps_per_epoch=20)
