"""How long the elements of a dataset are, where that varies: tokens, time steps, pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

Length = Callable[..., Any]


def length_in(spec: Any, *, batched: bool) -> Length:
    """Return a function of an element that gives the length of its first component that varies.

    Of a batch it is that of all its examples together, padding included; 0 where nothing varies.
    """
    for index, each in enumerate(tf.nest.flatten(spec)):
        length = _length(each, batched=batched)
        if length is not None:
            return _of_component(index, length)
    return lambda *_: tf.constant(0, tf.int64)


def _of_component(index: int, length: Length) -> Length:
    return lambda *element: length(tf.nest.flatten(element)[index])


def _length(spec: Any, *, batched: bool) -> Length | None:
    if isinstance(spec, tf.RaggedTensorSpec):
        return lambda ragged: tf.shape(ragged.flat_values, tf.int64)[0]
    if not isinstance(spec, tf.TensorSpec) or spec.shape.rank is None:
        return None
    unknown = [axis for axis, size in enumerate(spec.shape) if size is None]
    varying = [axis for axis in unknown if axis or not batched]
    axes = [0, *varying] if batched else varying
    return (lambda dense: _product(dense, axes)) if varying else None


def _product(tensor: Any, axes: list[int]) -> Any:
    return tf.reduce_prod(tf.gather(tf.shape(tensor, tf.int64), axes))
