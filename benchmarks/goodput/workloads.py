"""Five trainings with a loss on held-out examples that is reached within a minute at a batch of 32.

Their examples are drawn, so that there are as many as a large batch needs: augmented digits, a
second-order Markov chain for an LSTM and for a transformer, words whose meaning adds up, and rows
of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

Arrays = tuple[Any, Any]
Draw = np.random.Generator
HELD_OUT = 2000
"""Examples that are never trained on."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A model, its data, and the loss to reach."""

    examples: int
    draw: Callable[[int, Draw], Arrays]
    network: Callable[[], Any]
    optimizer: Callable[[], Any]
    target: float
    """Loss on held-out examples."""


def model_fn(training: str = "conv") -> Any:
    """Return the compiled model of a training."""
    model = TRAININGS[training].network()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=TRAININGS[training].optimizer(), loss=loss)
    return model


def dataset_fn(training: str = "conv") -> tf.data.Dataset:
    """Return the examples of a training, in another order in each epoch."""
    x, y = data(training)
    order = tf.data.Dataset.range(len(x)).shuffle(len(x))
    x, y = tf.constant(x), tf.constant(y)
    return order.map(lambda i: (tf.gather(x, i), tf.gather(y, i)))


def held_out(training: str) -> Arrays:
    """Return examples of the same kind that are not trained on."""
    return TRAININGS[training].draw(HELD_OUT, np.random.default_rng(1))


@cache
def data(training: str) -> Arrays:
    """Return the examples of a training as arrays."""
    return TRAININGS[training].draw(TRAININGS[training].examples, np.random.default_rng(0))


def _digits(count: int, draw: Draw) -> Arrays:
    """Return digits that are shifted by up to a pixel, with noise; held-out ones are others."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 - takes a second

    found = load_digits()
    images, labels = found.images.astype("float32") / 16, found.target.astype("int32")
    mine = np.arange(len(images)) % 6 == 5
    images, labels = (each[mine if count == HELD_OUT else ~mine] for each in (images, labels))
    picked, shift = draw.integers(0, len(images), count), draw.integers(-1, 2, (count, 2))
    moved = [np.roll(images[i], s, (0, 1)) for i, s in zip(picked, shift, strict=True)]
    noisy = np.array(moved) + draw.normal(0, 0.15, (count, 8, 8)).astype("float32")
    return noisy[..., None], labels[picked]


def _chain(count: int, draw: Draw) -> Arrays:
    """Return sequences in which each symbol depends on the two before it, and what comes next."""
    symbols, length = 8, 16
    odds = np.random.default_rng(7).dirichlet(np.full(symbols, 0.25), (symbols, symbols)).cumsum(-1)
    found = np.zeros((count, length + 1), "int32")
    found[:, :2] = draw.integers(0, symbols, (count, 2))
    for i in range(2, length + 1):
        chances = odds[found[:, i - 2], found[:, i - 1]]
        found[:, i] = (draw.random((count, 1)) > chances).sum(1).clip(0, symbols - 1)
    return found[:, :-1], found[:, 1:]


def _words(count: int, draw: Draw) -> Arrays:
    """Return texts of words, frequent and rare, and a yes or no that follows from their sum."""
    words, length = 3000, 12
    often = 1 / np.arange(1, words + 1) ** 0.8
    meaning = np.random.default_rng(7).normal(0, 1, (words, 4))
    texts = draw.choice(words, (count, length), p=often / often.sum()).astype("int32")
    z = meaning[texts].mean(1) * np.sqrt(length)
    noise = 0.5 * draw.normal(size=count)
    return texts, (z[:, 0] * z[:, 1] + z[:, 2] + noise > 0).astype("int32")


def _table(count: int, draw: Draw) -> Arrays:
    """Return rows of numbers, and one of five classes by a rule with noise."""
    rule = np.random.default_rng(7)
    first, second = rule.normal(0, 0.4, (20, 24)), rule.normal(0, 1, (24, 5))
    rows = draw.normal(0, 1, (count, 20)).astype("float32")
    logits = np.tanh(rows @ first) @ second + draw.gumbel(0, 0.5, (count, 5))
    return rows, logits.argmax(1).astype("int32")


def _conv() -> Any:
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )


def _lstm() -> Any:
    return keras.Sequential(
        [
            keras.Input((16,), dtype="int32"),
            layers.Embedding(8, 16),
            layers.LSTM(32, return_sequences=True),
            layers.Dense(8),
        ]
    )


def _embedding() -> Any:
    return keras.Sequential(
        [
            keras.Input((12,), dtype="int32"),
            layers.Embedding(3000, 16),
            layers.GlobalAveragePooling1D(),
            layers.Dense(32, activation="relu"),
            layers.Dense(2),
        ]
    )


def _dense() -> Any:
    hidden = [layers.Dense(64, activation="relu") for _ in range(2)]
    return keras.Sequential([keras.Input((20,)), *hidden, layers.Dense(5)])


def _transformer() -> Any:
    symbols = keras.Input((16,), dtype="int32")
    places = layers.Embedding(16, 32)(keras.ops.arange(16))
    x = layers.Embedding(8, 32)(symbols) + places
    for _ in range(2):
        normal = layers.LayerNormalization()(x)
        heads = layers.MultiHeadAttention(num_heads=4, key_dim=8)
        x = x + heads(normal, normal, use_causal_mask=True)
        inner = layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(32)(inner)
    return keras.Model(symbols, layers.Dense(8)(layers.LayerNormalization()(x)))


def _adam() -> Any:
    return keras.optimizers.Adam(1e-3)


TRAININGS = {
    "conv": Training(
        examples=32768,
        draw=_digits,
        network=_conv,
        optimizer=lambda: keras.optimizers.SGD(0.02, momentum=0.9),
        target=0.40,
    ),
    "lstm": Training(examples=65536, draw=_chain, network=_lstm, optimizer=_adam, target=1.40),
    "embedding": Training(
        examples=131072, draw=_words, network=_embedding, optimizer=_adam, target=0.50
    ),
    "table": Training(examples=65536, draw=_table, network=_dense, optimizer=_adam, target=0.58),
    "transformer": Training(
        examples=65536, draw=_chain, network=_transformer, optimizer=_adam, target=1.30
    ),
}
