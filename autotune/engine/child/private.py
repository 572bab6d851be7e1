"""Private names of Keras and TensorFlow that nothing public replaces, and what is lost without.

They are asked for here alone. Those that delivered programs need stand in `keras_training`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import keras


def layers_of(model: Any) -> list[Any]:
    """Return all layers of a model; without the name, those that it lists, not those in them."""
    every = getattr(model, "_flatten_layers", None)
    return list(every() if every else model.layers)


def makes_own_function(model: Any) -> bool:
    """Return whether a class makes its training function itself.

    Without the name, only what replaces `make_train_function` is seen.
    """
    names = ("make_train_function", "_make_function")
    return any(getattr(type(model), n, None) is not getattr(keras.Model, n, None) for n in names)


def batches_of_validation(model: Any) -> int | None:
    """Return how many batches the validation of a `fit` has; None without the name, or a number."""
    iterator = getattr(model, "_eval_epoch_iterator", None)
    batches = getattr(iterator, "num_batches", None)
    return None if batches is None else int(batches)


def draws_numbers(layer: Any) -> bool:
    """Return whether a layer draws random numbers; without the name, no layer is known to."""
    return bool(getattr(layer, "_seed_generators", ()))


def clipped(optimizer: Any, gradients: Sequence[Any]) -> Sequence[Any]:
    """Return gradients as an optimizer clips them; without the name, as they are."""
    clip: Callable[..., Any] | None = getattr(optimizer, "_clip_gradients", None)
    return clip(gradients) if clip else gradients


def remove_exchange() -> None:
    """Have every replica apply its own gradients, from now on and in all of this process.

    Raises:
        ImportError, AttributeError: Without the names; the exchange is not timed then.
    """
    from keras.src.backend.tensorflow.optimizer import TFOptimizer  # noqa: PLC0415 - see above

    _ = TFOptimizer._all_reduce_sum_gradients
    TFOptimizer._all_reduce_sum_gradients = lambda _, pairs: list(pairs)


def shard_by_files() -> Callable[[Any, int, int], Any] | None:
    """Return what gives a worker its share of a dataset by its policy; None without the name."""
    try:
        from tensorflow.python.data.experimental.ops.distribute import (  # noqa: PLC0415 - see above
            _AutoShardDataset,
        )
    except ImportError:
        return None
    shard: Callable[[Any, int, int], Any] = _AutoShardDataset
    return shard


def is_summed_on_read(variable: Any) -> bool:
    """Return whether replicas keep values of their own; without the name, none is known to."""
    return "OnRead" in type(variable).__name__


# Of a dataset's stages. Without these names AttributeError is raised, and reading it must tell.


def kind_of(stage: Any) -> str:
    """Return what a stage does, as `Prefetch` or `ParallelMap`."""
    return type(stage).__name__.lstrip("_").removesuffix("Dataset")


def sources_of(stage: Any) -> Sequence[Any]:
    """Return the stages that a stage reads."""
    found: Sequence[Any] = stage._inputs()
    return found


def functions_of(stage: Any) -> Sequence[Any]:
    """Return the functions that a stage calls."""
    found: Sequence[Any] = stage._functions()
    return found


def buffer_of(stage: Any) -> int:
    """Return the elements that a prefetch or shuffle holds; 0 where TensorFlow chooses."""
    return max(int(stage._buffer_size), 0)


def keeps_order(stage: Any) -> bool:
    """Return whether a shuffle is known to give the same order again."""
    return bool(stage._reshuffle_each_iteration is False)
