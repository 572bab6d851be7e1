"""Factories that break their contract, each in one way."""

import keras
import numpy as np
import tensorflow as tf


def model_fn() -> keras.Model:
    """Nothing is wrong with this one."""
    model = uncompiled()
    model.compile(loss="mse")
    return model


def uncompiled() -> keras.Model:
    """The call of `compile` was forgotten."""
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])


def raises() -> keras.Model:
    raise RuntimeError("the vocabulary is missing")


def dataset_fn() -> tf.data.Dataset:
    """Nothing is wrong with this one."""
    return tf.data.Dataset.from_tensor_slices((np.zeros((64, 4), "float32"), np.zeros((64, 1))))
