"""The next article of a basket: embeddings of what lies in it, pooled, over a wide output."""

import keras
import numpy as np
import tensorflow as tf

BASKETS = 32_768
ARTICLES = 6_000
MOST = 12


def model_fn(units: int = 48) -> keras.Model:
    """Build and compile pooled embeddings and scores of all articles."""
    basket = keras.Input((MOST,), dtype="int32", name="basket")
    shop = keras.Input((1,), dtype="int32", name="shop")
    articles = keras.layers.Embedding(ARTICLES, units)(basket)
    place = keras.layers.Flatten()(keras.layers.Embedding(50, 8)(shop))
    x = keras.layers.Concatenate()([keras.layers.GlobalMaxPooling1D()(articles), place])
    x = keras.layers.Dense(units, activation="relu")(x)
    model = keras.Model({"basket": basket, "shop": shop}, keras.layers.Dense(ARTICLES)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adagrad", loss=loss)
    return model


def dataset_fn() -> tf.data.Dataset:
    """Return random baskets with the shop and the article that was bought next."""
    rng = np.random.default_rng(0)
    inputs = {
        "basket": rng.integers(ARTICLES, size=(BASKETS, MOST), dtype=np.int32),
        "shop": rng.integers(50, size=(BASKETS, 1), dtype=np.int32),
    }
    bought = rng.integers(ARTICLES, size=BASKETS)
    return tf.data.Dataset.from_tensor_slices((inputs, bought)).shuffle(BASKETS)
