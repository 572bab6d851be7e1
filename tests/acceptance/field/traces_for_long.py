"""Its first step takes longer than the budget of the test."""

import time

import keras
import numpy as np


class Patient(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = keras.layers.Dense(1)

    def call(self, x):
        return self.out(x)

    def compute_loss(self, *given, **more):
        time.sleep(30)
        return super().compute_loss(*given, **more)


x = np.zeros((256, 4), "float32")
model = Patient()
model.compile("sgd", "mse")
model.fit(x, x[:, :1], epochs=2)
