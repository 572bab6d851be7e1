"""The same with Keras 2, which can."""

import os

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rows = tf.data.Dataset.from_tensor_slices((tf.zeros((64, 4)), tf.zeros((64, 1)))).batch(16)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")

model.fit(rows, epochs=2)
