"""A whole training script, as many people have one: no function for autotune in it.

autotune tune examples/whole_script.py -- --units 256
"""

import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--units", type=int, default=128)
args = parser.parse_args()

rng = np.random.default_rng(0)
images = rng.random((10_000, 28, 28, 1), dtype=np.float32)
labels = (images.mean(axis=(1, 2, 3)) > 0.5).astype("int64")

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        keras.layers.Flatten(),
        keras.layers.Dense(args.units, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(2, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

history = model.fit(
    images,
    labels,
    batch_size=64,
    epochs=3,
    validation_split=0.1,
    callbacks=[keras.callbacks.EarlyStopping(patience=2)],
)
print("Best accuracy:", max(history.history["val_accuracy"]))
