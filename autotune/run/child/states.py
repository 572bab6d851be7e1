"""The variables of a model on every replica of a process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from autotune.run.child.sketch import sketch

_SEED = "seed_generator_state"
"""The name that Keras gives to the state of every generator of random numbers."""


class Held(NamedTuple):
    """A variable, and what it is for."""

    variable: Any
    kind: str


def variables_of(model: Any) -> list[Held]:
    """Return what a model holds when its training begins: weights and random states."""
    return weights_of(model) + random_of(model)


def weights_of(model: Any) -> list[Held]:
    """Return the weights of a model, learned and others."""
    trainable = {id(each) for each in model.trainable_variables}
    return [Held(v, "trainable" if id(v) in trainable else "state") for v in model.weights]


def random_of(model: Any) -> list[Held]:
    """Return the states of a model's generators of random numbers."""
    return [Held(each, "random") for each in model.variables if each.name == _SEED]


def optimizers_of(model: Any) -> list[Held]:
    """Return the optimizer's variables, which may exist only once it has taken a step."""
    if model.optimizer is None:
        return []
    return [Held(each, "optimizer") for each in model.optimizer.variables]


def described(held: Held, strategy: Any) -> dict[str, Any]:
    """Return what is known of a variable."""
    dtype = tf.as_dtype(held.variable.dtype)
    inner = held.variable.value
    return {
        "name": getattr(held.variable, "path", held.variable.name),
        "kind": held.kind,
        "epsilon": _epsilon(dtype),
        "copies": len(strategy.experimental_local_results(inner)),
        "mirrored": isinstance(inner, tf.distribute.DistributedValues),
        "apart": "OnRead" in type(inner).__name__,
    }


def copies(everything: list[Held], strategy: Any) -> list[list[list[float]]]:
    """Return for each local replica the sketch of each variable."""
    columns = [_sketches(held, strategy) for held in everything]
    replicas = max(map(len, columns), default=1)
    # A variable with one copy is the same to all replicas that use it.
    full = [each if len(each) == replicas else each[:1] * replicas for each in columns]
    return [list(row) for row in zip(*full, strict=True)]


def first_copies(everything: list[Held], strategy: Any) -> Iterator[Any]:
    """Yield the value of each variable on the first local replica."""
    for held in everything:
        yield strategy.experimental_local_results(held.variable.value)[0].numpy()


def _sketches(held: Held, strategy: Any) -> list[list[float]]:
    values = strategy.experimental_local_results(held.variable.value)
    return [sketch(value.numpy()) for value in values]


def _epsilon(dtype: Any) -> float:
    """Return the relative size of a rounding; 0 for whole numbers."""
    if dtype == tf.bfloat16:
        return 2.0**-7  # numpy does not know it
    return float(np.finfo(dtype.as_numpy_dtype).eps) if dtype.is_floating else 0.0
