"""TFRecord files, read in parallel and parsed in a map: the usual pipeline for large data.

With at least as many files as workers, TensorFlow can shard by FILE: each worker opens only its
own files, so that reading and parsing shrink with more workers. The parsing map leaves its
`num_parallel_calls` to autotune. The digits stand in for large data; they are written once.

    autotune tune examples/tfrecords.py:model_fn examples/tfrecords.py:dataset_fn
"""

import tempfile
import uuid
from pathlib import Path

import keras
import tensorflow as tf
from sklearn.datasets import load_digits

FILES = 4


def model_fn(units: int = 128) -> keras.Model:
    """Build and compile a small dense classifier."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
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


def dataset_fn(folder: str | None = None, num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return parsed images and digits from the files in `folder`, written there if missing."""
    path = Path(folder or Path(tempfile.gettempdir()) / "autotune-digits")
    write_files(path)
    # In sorted order, because all workers must agree on which file is whose.
    names = tf.data.Dataset.list_files(str(path / "*.tfrecord"), shuffle=False)
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=FILES)
    examples = records.map(parse, num_parallel_calls=num_parallel_calls)
    return examples.shuffle(2048, seed=0)


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Decode one record into an image, scaled to 0..1, and its digit."""
    features = tf.io.parse_single_example(
        record,
        {
            "image": tf.io.FixedLenFeature((), tf.string),
            "label": tf.io.FixedLenFeature((), tf.int64),
        },
    )
    pixels = tf.reshape(tf.io.decode_raw(features["image"], tf.uint8), (8, 8, 1))
    return tf.cast(pixels, tf.float32) / 16, features["label"]


def write_files(folder: Path) -> None:
    """Write the digits as TFRecord files, unless they are there already."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    images = digits.images.astype("uint8")
    for index in range(FILES):
        path = folder / f"digits-{index}-of-{FILES}.tfrecord"
        if path.exists():
            continue
        # Workers start together: a private name, then an atomic rename, so that none of them
        # ever reads a file that another one is still writing.
        draft = folder / f"{path.stem}.{uuid.uuid4().hex}.draft"
        with tf.io.TFRecordWriter(str(draft)) as writer:
            for image, label in zip(images[index::FILES], digits.target[index::FILES], strict=True):
                writer.write(serialize(image.tobytes(), int(label)))
        draft.replace(path)


def serialize(image: bytes, label: int) -> bytes:
    """Encode one example as a record."""
    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString())
