"""Takes the exchange of gradients out of a training, and leaves everything else in it.

Under a synchronous strategy Keras adds up the gradients of all replicas in one method of its
optimizers, dense and sparse ones alike, before it applies them.
"""

from __future__ import annotations

from typing import Any


def remove_exchange() -> None:
    """Have every replica apply its own gradients, from now on and in all of this process.

    Raises:
        AttributeError: This version of Keras adds them up elsewhere.
    """
    from keras.src.backend.tensorflow.optimizer import TFOptimizer  # noqa: PLC0415 - private

    _ = TFOptimizer._all_reduce_sum_gradients  # noqa: SLF001 - nothing public does it
    TFOptimizer._all_reduce_sum_gradients = _own  # noqa: SLF001 - as above


def _own(_: Any, grads_and_vars: Any) -> list[Any]:
    return list(grads_and_vars)
