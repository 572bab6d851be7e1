"""The Python call, as in a notebook: the factories are functions of this very program.

They need not live in a module of their own: autotune ships them to the trial processes by value.

    python examples/notebook_style.py
"""

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

from autotune import autotune


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a small dense classifier."""
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return single pairs of 64 pixels, scaled to 0..1, and a digit."""
    digits = load_digits()
    pixels = (digits.data / 16).astype("float32")
    return tf.data.Dataset.from_tensor_slices((pixels, digits.target.astype("int64")))


# Trials run in processes of their own, which may import this file again: without the guard, each
# of them would start a search.
if __name__ == "__main__":
    result = autotune(model_fn, dataset_fn, space="quick", budget="1min")
    print(result.verdict, result.gain_over_yours)
    result.save("autotune-out")
