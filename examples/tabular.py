"""A classifier of table rows, at Keras's defaults: three minutes on two cores, batches of 32.

autotune run examples/tabular.py
"""

import argparse

import keras
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=20)
args = parser.parse_args()

rows, labels = make_classification(
    200_000, n_features=30, n_informative=15, n_classes=4, random_state=0
)
x_train, x_test, y_train, y_test = train_test_split(rows, labels, test_size=0.1, random_state=0)
scaler = StandardScaler().fit(x_train)

model = keras.Sequential(
    [
        keras.Input((30,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

validation = scaler.transform(x_test), y_test
model.fit(
    scaler.transform(x_train), y_train, epochs=args.epochs, validation_data=validation, verbose=2
)
print("Accuracy:", round(model.evaluate(*validation, verbose=0)[1], 3))
