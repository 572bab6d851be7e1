"""Models, and data for them in every form that `Model.fit` takes."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

EXAMPLES = 100
X, Y = np.random.default_rng(0).random((EXAMPLES, 8)), np.ones((EXAMPLES, 1))
LENGTHS = np.random.default_rng(0).integers(1, 50, EXAMPLES)


def compiled(model: keras.Model) -> keras.Model:
    model.compile("adam", "mse")
    return model


def dense() -> keras.Model:
    return compiled(keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)]))


def two_inputs() -> keras.Model:
    inputs = [keras.Input((8,), name=name) for name in "ab"]
    joined = keras.layers.Concatenate()(inputs)
    return compiled(keras.Model(inputs, keras.layers.Dense(1)(joined)))


def named_inputs() -> keras.Model:
    inputs = {name: keras.Input((8,), name=name) for name in "ab"}
    joined = keras.layers.Concatenate()([*inputs.values()])
    return compiled(keras.Model(inputs, keras.layers.Dense(1)(joined)))


def reader() -> keras.Model:
    layers = [keras.layers.Embedding(100, 4), keras.layers.GlobalAveragePooling1D()]
    return compiled(
        keras.Sequential([keras.Input((None,), dtype="int32"), *layers, keras.layers.Dense(1)])
    )


def of_images() -> keras.Model:
    layers = [keras.layers.Flatten(), keras.layers.Dense(1)]
    return compiled(keras.Sequential([keras.Input((4, 4, 3)), *layers]))


class Adversaries(keras.Model):
    """Two networks, each with an optimizer of its own, and no call."""

    def __init__(self) -> None:
        super().__init__()
        self.maker = keras.Sequential([keras.layers.Dense(8)])
        self.judge = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])

    def compile(self, makers: keras.Optimizer, judges: keras.Optimizer) -> None:
        super().compile()
        self.makers, self.judges = makers, judges

    def train_step(self, real: Any) -> dict[str, Any]:
        with tf.GradientTape(persistent=True) as tape:
            made = self.judge(self.maker(tf.random.normal((tf.shape(real)[0], 4))))
            loss = tf.reduce_mean(made) - tf.reduce_mean(self.judge(real))
        for optimizer, model in ((self.makers, self.maker), (self.judges, self.judge)):
            weights = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def adversaries() -> keras.Model:
    model = Adversaries()
    model.compile(keras.optimizers.Adam(), keras.optimizers.Adam())
    return model


def examples() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices((X, Y))


def sequences() -> tf.data.Dataset:
    def each() -> Iterator[tuple[Any, Any]]:
        yield from ((np.ones(length, np.int32), 1.0) for length in LENGTHS)

    signature = (tf.TensorSpec((None,), tf.int32), tf.TensorSpec(()))
    return tf.data.Dataset.from_generator(each, output_signature=signature)


def in_a_list() -> Any:
    return [X, X], Y, np.ones(EXAMPLES)


def in_a_dict() -> Any:
    return {"a": X, "b": X}, Y


def table() -> Any:
    frame = pd.DataFrame(X)
    return frame, frame[0]


def ragged() -> Any:
    rows = np.repeat(np.arange(EXAMPLES), LENGTHS)
    return tf.RaggedTensor.from_value_rowids(np.ones(len(rows), np.int32), rows), Y


class Batches(keras.utils.PyDataset):
    """All examples, the last of them in a batch of another size than the others."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        chosen = slice(30 * index, 30 * index + 30)
        return X[chosen], Y[chosen]


def by_python() -> Any:
    return Batches()


def by_processes() -> Any:
    return Batches(workers=3, use_multiprocessing=True)


def features() -> Any:
    return X


def with_validation() -> Any:
    return (X, Y), (X[:10], Y[:10])


def single_tensors() -> Any:
    return examples().map(lambda x, _: tf.cast(x, tf.float32))


def batches() -> Any:
    return examples().batch(32)


def with_remainder(batch_size: int) -> Any:
    return examples().batch(batch_size)


def bucketed(batch_size: int) -> Any:
    sizes = [batch_size] * 2
    return sequences().repeat(8).bucket_by_sequence_length(lambda x, _: tf.size(x), [25], sizes)


def padded(batch_size: int) -> Any:
    return sequences().padded_batch(batch_size)


def endless() -> Any:
    return examples().repeat()


def folder(path: str, batch_size: int) -> Any:
    return keras.utils.image_dataset_from_directory(
        path, batch_size=batch_size, image_size=(4, 4), label_mode="binary", verbose=False
    )
