"""A batch of 265, which two replicas cannot divide into equal parts."""

import numpy as np
import tensorflow as tf

x, y = np.random.rand(2650, 4).astype("float32"), np.random.rand(2650, 1).astype("float32")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y, batch_size=265, epochs=2)
