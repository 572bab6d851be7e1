"""The multi-worker tutorial as it is read today: Keras 3 cannot run it on two workers."""

import json
import os

import numpy as np
import tensorflow as tf

WORKERS = len(json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"])
BATCH = 64 * WORKERS
strategy = tf.distribute.MultiWorkerMirroredStrategy()
images = np.zeros((1000, 28, 28), "float32")
labels = np.zeros(1000, "int64")
digits = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000, seed=1).batch(BATCH)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.001 * WORKERS),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )

model.fit(digits.repeat(), epochs=2, steps_per_epoch=10)  # keras-fit-on-workers
model.evaluate(digits)  # keras-fit-on-workers
