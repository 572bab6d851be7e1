"""fit gets class weights beside a dataset that is distributed."""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
rows = tf.data.Dataset.from_tensor_slices(
    (np.random.rand(640, 4).astype("float32"), np.arange(640) % 2)
).batch(16)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
shared = strategy.experimental_distribute_dataset(rows)
model.fit(shared, epochs=1, class_weight={0: 1.0, 1: 3.0})  # class-weight-distributed
