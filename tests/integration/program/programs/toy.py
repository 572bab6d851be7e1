"""A small classifier whose training is the same on every run, for the golden programs."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 64
FEATURES = 8


def model_fn(units: int = 16) -> keras.Model:
    """Build and compile a network without any randomness beyond its first weights."""
    layers = [
        keras.Input((FEATURES,)),
        keras.layers.Dense(units, activation="relu"),
        keras.layers.Dense(3),
    ]
    model = keras.Sequential(layers)
    model.compile(
        optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


class Unbuilt(keras.Model):
    """The same network, whose variables do not exist before it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(16, activation="relu")
        self.out = keras.layers.Dense(3)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return self.out(self.hidden(inputs))

    @staticmethod
    def make() -> keras.Model:
        """Compile the network; as a factory it has a dotted name."""
        model = Unbuilt()
        model.compile(optimizer="adam", loss="mse", metrics=["mae"], run_eagerly=False)
        return model


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((EXAMPLES, FEATURES)).astype(np.float32)
    return features, features[:, :3].argmax(axis=1)


def dataset_fn() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(arrays())


def handing_over(
    cache: Callable[[tf.data.Dataset], tf.data.Dataset] = lambda dataset: dataset,
) -> tf.data.Dataset:
    """Return examples of which all that is the same in every epoch may be cached."""
    return cache(dataset_fn()).map(lambda x, y: (x, tf.identity(y)))


def regression() -> tf.data.Dataset:
    features, _ = arrays()
    return tf.data.Dataset.from_tensor_slices((features, features[:, :3]))


def batched(
    batch_size: int, num_parallel_calls: int | None = None, scale: float = 1.0
) -> tf.data.Dataset:
    """Return whole batches of examples, the features multiplied by a number."""
    batches = dataset_fn().batch(batch_size, drop_remainder=True)
    return batches.map(lambda x, y: (scale * x, y), num_parallel_calls=num_parallel_calls)
