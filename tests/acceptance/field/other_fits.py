"""Fits a scaler and a classifier of scikit-learn around a network that an own class fits."""

import keras
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler


class Runner:
    def __init__(self, network):
        self.network = network

    def fit(self, rows, sums):
        return self.network.fit(rows, sums, batch_size=16)

    def evaluate(self, rows):
        return float(rows.mean())


table = np.random.default_rng(1).random((400, 5), dtype=np.float32)
scaled = StandardScaler().fit(table).transform(table)
network = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
network.compile(optimizer="sgd", loss="mse")
runner = Runner(network)
runner.fit(scaled, table.sum(axis=1))
runner.evaluate(scaled)
classifier = LogisticRegression()
classifier.fit(table, table[:, 0] > 0.5)
classifier.predict(table)
