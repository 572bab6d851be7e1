"""A dataset that maps with the parameter, without one, and with an AUTOTUNE of its own."""

import keras
import tensorflow as tf


def model_fn() -> keras.Model:
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    numbers = tf.random.stateless_normal((4096, 8), [1, 2])
    single = tf.data.Dataset.from_tensor_slices(numbers)
    labelled = single.map(lambda x: (x, x[:1]), num_parallel_calls=num_parallel_calls)
    doubled = labelled.map(lambda x, y: (2 * x, y))
    return doubled.map(lambda x, y: (x, y + 1), num_parallel_calls=tf.data.AUTOTUNE)


def plain_fn() -> tf.data.Dataset:
    numbers = tf.random.stateless_normal((4096, 8), [1, 2])
    return tf.data.Dataset.from_tensor_slices(numbers).map(lambda x: (x, x[:1]))
