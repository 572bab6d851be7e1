"""Trains a tiny model with fit."""

import argparse
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf


def model_fn() -> keras.Model:
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model


def dataset_fn() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((np.ones((64, 8)), np.ones((64, 1))))


def main(
    argv: Sequence[str] | None = None, callbacks: Sequence[keras.callbacks.Callback] = ()
) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments, _ = parser.parse_known_args(argv)
    keras.utils.set_random_seed(arguments.seed)
    dataset = dataset_fn().repeat().batch(8)
    model_fn().fit(
        dataset,
        steps_per_epoch=100,
        epochs=arguments.epochs,
        callbacks=list(callbacks),
        verbose=0,
    )


if __name__ == "__main__":
    main()
