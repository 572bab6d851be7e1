"""Commands told from recordings of features by two recurrences, one step after the other."""

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 8_192
FRAMES = 50
FEATURES = 40
CLASSES = 12


def model_fn(units: int = 48) -> keras.Model:
    """Build and compile two LSTMs."""
    inputs = keras.Input((FRAMES, FEATURES))
    x = keras.layers.LSTM(units, return_sequences=True)(inputs)
    x = keras.layers.LSTM(units)(x)
    model = keras.Model(inputs, keras.layers.Dense(CLASSES)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return recordings, in random order, with the command that each holds."""
    rng = np.random.default_rng(0)
    recordings = rng.standard_normal((EXAMPLES, FRAMES, FEATURES), dtype=np.float32)
    commands = rng.integers(0, CLASSES, EXAMPLES)
    return tf.data.Dataset.from_tensor_slices((recordings, commands)).shuffle(EXAMPLES)
