"""A property of molecules: convolutions on graphs, whose matrices are made of lists of bonds."""

import keras
import numpy as np
import tensorflow as tf

MOLECULES = 32_768
ATOMS = 18
BONDS = 24
ELEMENTS = 10


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile three rounds in which atoms hear of their neighbours, and one figure."""
    elements = keras.Input((ATOMS,), dtype="int32", name="elements")
    bonds = keras.Input((ATOMS, ATOMS), name="bonds")
    x = keras.layers.Embedding(ELEMENTS, units)(elements)
    for _ in range(3):
        heard = keras.ops.matmul(bonds, keras.layers.Dense(units, activation="relu")(x))
        x = keras.layers.LayerNormalization()(x + heard)
    total = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x))
    model = keras.Model({"elements": elements, "bonds": bonds}, total)
    model.compile(optimizer="adam", loss="mse")
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return random molecules as elements and a matrix of bonds, with a random property."""
    rng = np.random.default_rng(0)
    elements = rng.integers(ELEMENTS, size=(MOLECULES, ATOMS), dtype=np.int32)
    pairs = rng.integers(ATOMS, size=(MOLECULES, BONDS, 2))
    energies = rng.standard_normal((MOLECULES, 1), dtype=np.float32)

    def graph(
        atoms: tf.Tensor, ends: tf.Tensor, energy: tf.Tensor
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        both = tf.concat([ends, tf.reverse(ends, axis=[1])], axis=0)
        bonds = tf.scatter_nd(both, tf.ones(2 * BONDS), (ATOMS, ATOMS))
        return {"elements": atoms, "bonds": tf.minimum(bonds, 1.0)}, energy

    rows = tf.data.Dataset.from_tensor_slices((elements, pairs, energies))
    return rows.map(graph, num_parallel_calls=num_parallel_calls)
