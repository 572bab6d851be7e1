"""Asks for JAX, and does with an array before fit what only JAX can."""

import os

os.environ["KERAS_BACKEND"] = "jax"
import keras  # after what it reads

rows = keras.ops.ones((64, 5)).at[0].set(2.0)
network = keras.Sequential([keras.layers.Dense(1)])
network.compile(optimizer="sgd", loss="mse")
network.fit(rows, rows[:, :1])
