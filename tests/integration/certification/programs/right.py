"""Factories that train the same on one device and on several."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 256
STEPS, FEATURES = 4, 6


def plain() -> keras.Model:
    return compiled([keras.layers.Flatten(), keras.layers.Dense(16, activation="relu")])


def noisy() -> keras.Model:
    layers = keras.layers
    return compiled(
        [layers.Flatten(), layers.Dense(16), layers.BatchNormalization(), layers.Dropout(0.5)]
    )


def recurrent() -> keras.Model:
    return compiled([keras.layers.LSTM(8, dropout=0.3)])


def compiled(layers: list[keras.Layer]) -> keras.Model:
    model = keras.Sequential([keras.Input((STEPS, FEATURES)), *layers, keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss=loss, metrics=["accuracy"])
    return model


def arrays() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(0).standard_normal((EXAMPLES, STEPS, FEATURES))
    return numbers.astype(np.float32), numbers[:, 0, :3].argmax(axis=1).astype(np.int32)


def shuffled() -> tf.data.Dataset:
    """Return single examples in another order in every pass, some of them twice."""
    features, labels = arrays()
    features[1::16], labels[1::16] = features[::16], labels[::16]
    return tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(EXAMPLES)


def sharded(input_context: tf.distribute.InputContext) -> tf.data.Dataset:
    dataset = tf.data.Dataset.from_tensor_slices(arrays())
    return dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)


def from_files(folder: str) -> tf.data.Dataset:
    files = sorted(str(path) for path in Path(folder).glob("*.bin"))
    records = tf.data.FixedLengthRecordDataset(files, 4 * STEPS * FEATURES)
    return records.map(parsed)


def parsed(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    numbers = tf.reshape(tf.io.decode_raw(record, tf.float32), (STEPS, FEATURES))
    return numbers, tf.argmax(numbers[0, :3], output_type=tf.int32)


def augmented(input_context: tf.distribute.InputContext) -> tf.data.Dataset:
    return sharded(input_context).map(lambda x, y: (x + tf.random.normal(x.shape), y))
