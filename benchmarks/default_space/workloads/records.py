"""Records of text that Python parses, some fields left out at random; a small network."""

import json
from collections.abc import Iterator

import keras
import numpy as np
import tensorflow as tf

RECORDS = 6_000
FIELDS = 120
KEPT = 0.9


def model_fn(units: int = 64) -> keras.Model:
    """Build and compile a network of two layers."""
    model = keras.Sequential(
        [
            keras.Input((FIELDS,)),
            keras.layers.Dense(units, activation="relu"),
            keras.layers.Dense(4),
        ]
    )
    model.compile(
        optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    return model


def dataset_fn(input_context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Return parsed records with random labels; each worker parses its own."""
    # Not seeded: what is left out is another choice in each epoch, so that no cache may keep it.
    kept = np.random.default_rng().random
    shards = input_context.num_input_pipelines if input_context is not None else 1
    shard = input_context.input_pipeline_id if input_context is not None else 0
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((64, FIELDS))
    lines = [json.dumps({f"field {i}": x for i, x in enumerate(row)}) for row in numbers.tolist()]

    def examples() -> Iterator[tuple[np.ndarray, int]]:
        for index in range(shard, RECORDS, shards):
            fields = json.loads(lines[index % len(lines)])
            values = [max(min(fields[f"field {i}"], 3.0), -3.0) for i in range(FIELDS)]
            yield np.where(kept(FIELDS) < KEPT, values, 0.0).astype(np.float32), index % 4

    signature = (tf.TensorSpec((FIELDS,), tf.float32), tf.TensorSpec((), tf.int64))
    return tf.data.Dataset.from_generator(examples, output_signature=signature)
