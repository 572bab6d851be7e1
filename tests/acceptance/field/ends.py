"""Gives fit a generator that ends, with weights, and a last batch that is smaller."""

import keras
import numpy as np


def all_of(rows):
    for first in range(0, len(rows), 6):
        part = rows[first : first + 6]
        yield {"rows": part}, part[:, :1], np.ones(len(part), "float32")


given = keras.Input((5,), name="rows")
network = keras.Model({"rows": given}, keras.layers.Dense(1)(given))
network.compile(optimizer="sgd", loss="mse")
network.fit(all_of(np.ones((200, 5), "float32")))
