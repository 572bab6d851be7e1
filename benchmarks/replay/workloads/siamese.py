"""Whether two signatures are of one hand: the same convolutions over both."""

import keras
import numpy as np
import tensorflow as tf

PAIRS = 4096
HEIGHT, WIDTH = 24, 48


def model_fn(filters: int = 8) -> keras.Model:
    """Build and compile one tower that both pictures pass, and the distance of what it sees."""
    layers = [
        keras.Input((HEIGHT, WIDTH, 1)),
        keras.layers.Conv2D(filters, 5, strides=2, activation="relu"),
        keras.layers.Conv2D(2 * filters, 3, strides=2, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(32),
    ]
    tower = keras.Sequential(layers)
    first, second = (keras.Input((HEIGHT, WIDTH, 1), name=name) for name in ("first", "second"))
    distance = keras.ops.abs(tower(first) - tower(second))
    model = keras.Model({"first": first, "second": second}, keras.layers.Dense(1)(distance))
    model.compile(optimizer="adam", loss=keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random pairs of pictures, shuffled, and whether they belong together."""
    rng = np.random.default_rng(0)
    shape = (PAIRS, HEIGHT, WIDTH, 1)
    pairs = {name: rng.random(shape, dtype=np.float32) for name in ("first", "second")}
    alike = rng.integers(2, size=(PAIRS, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((pairs, alike)).shuffle(PAIRS)
