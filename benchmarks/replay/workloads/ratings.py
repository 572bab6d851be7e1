"""A recommender: users and films as vectors, of ratings that are parsed from lines of text."""

import keras
import numpy as np
import tensorflow as tf

RATINGS = 32_768
USERS = 4_000
FILMS = 2_000


def model_fn(units: int = 32) -> keras.Model:
    """Build and compile two towers whose product is the rating."""
    user = keras.Input((), name="user", dtype="int32")
    film = keras.Input((), name="film", dtype="int32")
    towers = [
        keras.layers.Dense(units)(keras.layers.Embedding(count, units)(one))
        for one, count in ((user, USERS), (film, FILMS))
    ]
    model = keras.Model({"user": user, "film": film}, keras.layers.Dot(axes=1)(towers))
    model.compile(optimizer="adam", loss="mse")
    return model


def dataset_fn(num_parallel_calls: int | None = None) -> tf.data.Dataset:
    """Return random ratings, each parsed from its line."""
    rng = np.random.default_rng(0)
    columns = (rng.integers(USERS, size=RATINGS), rng.integers(FILMS, size=RATINGS))
    rows = zip(*columns, rng.integers(1, 6, size=RATINGS), strict=True)
    lines = [f"{user},{film},{rating}" for user, film, rating in rows]
    return tf.data.Dataset.from_tensor_slices(lines).map(
        _parsed, num_parallel_calls=num_parallel_calls
    )


def _parsed(line: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    user, film, rating = tf.io.decode_csv(line, [0, 0, 0.0])
    return {"user": user, "film": film}, rating
