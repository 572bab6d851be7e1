"""What ties a model to its batches: state that it carries on, a size that is built into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf


def rows_of(batch: Any) -> int | None:
    """Return how many rows a batch has; None where they cannot be told."""
    parts = tf.nest.flatten(batch)
    if not all(isinstance(each, tf.Tensor) and each.shape.rank for each in parts):
        return None
    sizes = {int(each.shape[0]) for each in parts}
    return sizes.pop() if len(sizes) == 1 else None


def first_rows(batch: Any, rows: int) -> Any:
    return tf.nest.map_structure(lambda each: each[:rows], batch)


def static_batch(model: Any) -> int | None:
    """Return the size of the batches that the inputs of a model declare; None where any will do."""
    try:
        sizes = {each.shape[0] for each in model.inputs or ()} - {None}
    except (AttributeError, ValueError):  # It learns its inputs from the first batch.
        return None
    return sizes.pop() if len(sizes) == 1 else None


def stateful_layer(model: Any) -> str:
    """Return the layer that says that it carries state between batches; empty if none does."""
    layers = model._flatten_layers()  # noqa: SLF001 - Keras offers no public walk over all layers
    return next((f"layer {e.name}" for e in layers if getattr(e, "stateful", False)), "")


def carried_state(model: Any, batch: Any) -> str:
    """Return the model if it carries state from one batch to the next unsaid; empty if it does not.

    A batch is computed behind another one and behind itself, from the same weights and seeds: what
    differs then was kept where Keras does not see it.
    """
    features, *_ = keras.utils.unpack_x_y_sample_weight(batch)
    try:
        other = tf.nest.map_structure(tf.zeros_like, features)
        _, behind_other, behind_itself = _computed(model, [other, features, features])
    except Exception:  # noqa: BLE001 - a model with a step of its own need not have a call
        return ""
    same = all(map(_equal, behind_other, behind_itself))
    return "" if same else f"model {model.name}"


def accumulated_steps(model: Any) -> int:
    """Return the steps whose gradients make one update."""
    own = [each for each in vars(model).values() if isinstance(each, keras.Optimizer)]
    inner = [each.inner_optimizer for each in own if hasattr(each, "inner_optimizer")]
    steps = (getattr(each, "gradient_accumulation_steps", None) for each in (*own, *inner))
    return max((each for each in steps if each), default=1)


def _computed(model: Any, batches: Sequence[Any]) -> list[list[Any]]:
    found, start = [], [each.numpy() for each in model.variables]
    for batch in batches:
        for variable, value in zip(model.variables, start, strict=True):
            variable.assign(value)
        keras.utils.set_random_seed(0)
        for each in _generators(model):
            each.reset_from_seed(0)
        outputs = tf.nest.flatten(model(batch, training=True))
        found.append([np.asarray(each) for each in outputs])
    return found


def _generators(model: Any) -> Iterator[Any]:
    """Yield TensorFlow's own generators of random numbers, which Keras does not know."""
    yield tf.random.get_global_generator()
    for layer in model._flatten_layers():  # noqa: SLF001 - as above
        yield from (e for e in vars(layer).values() if isinstance(e, tf.random.Generator))


def _equal(one: Any, other: Any) -> bool:
    if one.dtype.kind not in "fiu" or other.dtype.kind not in "fiu":
        return True
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-3, equal_nan=True)
