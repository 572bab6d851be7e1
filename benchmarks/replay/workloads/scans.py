"""A regression on pictures that lie in a file each, read and decoded in a map."""

import tempfile
import uuid
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

SCANS = 1536
SIDE = 64


def model_fn(filters: int = 8) -> keras.Model:
    """Build and compile four convolutions that halve the picture, and one figure of it."""
    model = keras.Sequential([keras.Input((SIDE, SIDE, 1)), keras.layers.Rescaling(1 / 255)])
    for size in (filters, filters, 2 * filters, 4 * filters):
        model.add(keras.layers.Conv2D(size, 3, strides=2, padding="same", activation="relu"))
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(1))
    model.compile(optimizer="adam", loss="mae")
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return random pictures from their files, with a random figure each."""
    folder = Path(tempfile.gettempdir()) / "autotune-scans"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    paths = [folder / f"{number:04}.png" for number in range(SCANS)]
    for path in paths:
        scan = rng.integers(256, size=(SIDE, SIDE, 1), dtype=np.uint8)
        if not path.exists():
            # Workers start together, and none may read what another one is still writing.
            draft = folder / f"{uuid.uuid4().hex}.draft"
            draft.write_bytes(tf.io.encode_png(scan).numpy())
            draft.replace(path)
    ages = rng.uniform(20, 80, (SCANS, 1)).astype(np.float32)

    def decoded(path: tf.Tensor, age: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        scan = tf.io.decode_png(tf.io.read_file(path), channels=1)
        return tf.ensure_shape(scan, (SIDE, SIDE, 1)), age

    files = tf.data.Dataset.from_tensor_slices(([*map(str, paths)], ages)).shuffle(SCANS)
    return files.map(decoded, num_parallel_calls=num_parallel_calls)
