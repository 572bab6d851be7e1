"""Turns what `Model.fit` takes into a `tf.data.Dataset`.

autotune writes this file beside a program that imports it. It needs Keras and TensorFlow alone.
"""

from __future__ import annotations

import multiprocessing
import random
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import Any

import keras
import numpy as np
import tensorflow as tf


def batches_of(
    x: Any, y: Any = None, sample_weight: Any = None, *, batch_size: int, shuffle: bool = True
) -> tf.data.Dataset:
    """Return full batches of arrays, shuffled anew in every epoch, as `Model.fit` makes them.

    The last one is filled up from another pass.
    """
    arrays = keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
    # In the memory of the host, because that is where tf.data reads them.
    with tf.device("CPU"):
        arrays = keras.tree.lists_to_tuples(keras.tree.map_structure(as_tensor, arrays))
    sizes = {int(each.shape[0]) for each in keras.tree.flatten(arrays) if each is not None}
    if len(sizes) != 1:
        raise ValueError(f"All arrays need the same number of examples, not {sorted(sizes)}.")
    (size,) = sizes

    def examples(numbers: tf.Tensor) -> Any:
        return keras.tree.map_structure(
            lambda each: None if each is None else tf.gather(each, numbers), arrays
        )

    # Numbers are shuffled and batched instead of examples, because that costs far less.
    numbers = tf.data.Dataset.range(size)
    if shuffle:
        numbers = numbers.shuffle(max(size, 1))
    if missing := -size % batch_size:
        numbers = numbers.repeat().take(size + missing)
    batches = numbers.batch(batch_size, drop_remainder=True)
    return batches.map(examples, num_parallel_calls=tf.data.AUTOTUNE)


def as_tensor(values: Any) -> Any:
    """Return an array, a column, a table or a tensor as a tensor, with floats as Keras has them."""
    if values is None:
        return None
    if hasattr(values, "toarray"):  # of SciPy, sparse
        values = values.toarray()
    if hasattr(values, "iloc"):  # of pandas
        column = values.ndim == 1
        values = np.expand_dims(values.to_numpy(), -1) if column else values.to_numpy()
    tensor = values if tf.is_tensor(values) else tf.convert_to_tensor(np.asarray(values))
    floating = tensor.dtype.is_floating and tensor.dtype != keras.config.floatx()
    return tf.cast(tensor, keras.config.floatx()) if floating else tensor


def read_by_python(
    source: Any, *, shuffle: bool = True, workers: int = 0, peeked: int = 64
) -> tf.data.Dataset:
    """Return the batches of a generator, or of a `PyDataset` in the order that `Model.fit` has.

    Instead of its own number of workers, others may make the batches of a `PyDataset`. A pass over
    a generator that is left within so many batches as may be `peeked`, such as one that creates
    variables, has read nothing.
    """
    lasting = isinstance(source, keras.utils.PyDataset)
    first = [source[0]] if lasting else [*islice(source, 2)]
    if not first:
        raise ValueError("The generator yields no batch.")
    # Every pass goes on where the one before it ended, and closes nothing.
    once = chain(first, () if lasting else source)
    early: list[Any] = []

    def batches() -> Iterator[Any]:
        if not lasting:
            again, early[:] = [*early], []
            for number, batch in enumerate(chain(again, once)):
                early[:] = [*early, batch] if number < peeked else []
                yield keras.tree.lists_to_tuples(batch)
            early.clear()
            return
        order = list(range(len(source)))
        if shuffle:
            random.shuffle(order)
        made = by_processes if source.use_multiprocessing else by_threads
        yield from made(source, order, workers or source.workers)
        source.on_epoch_end()

    def spec(*arrays: Any) -> tf.TensorSpec:
        found = [tf.convert_to_tensor(each) for each in arrays]
        # A dimension in which two batches differ may differ in any.
        sizes = [{*each} for each in zip(*(each.shape[1:] for each in found), strict=True)]
        shape = [each.pop() if len(each) == 1 else None for each in sizes]
        return tf.TensorSpec([None, *shape], found[0].dtype)

    batch = [keras.tree.lists_to_tuples(each) for each in first]
    return tf.data.Dataset.from_generator(
        batches, output_signature=tf.nest.map_structure(spec, *batch)
    )


def by_threads(source: Any, order: list[int], workers: int) -> Iterator[Any]:
    """Yield the batches of a `PyDataset`, made by threads where there is more than one worker."""
    if workers < 2:
        yield from map(source.__getitem__, order)
        return
    with ThreadPoolExecutor(workers) as pool:
        made: deque[Future[Any]] = deque()
        for index in order:
            made.append(pool.submit(source.__getitem__, index))
            if len(made) > max(source.max_queue_size, workers):
                yield made.popleft().result()
        while made:
            yield made.popleft().result()


def by_processes(source: Any, order: list[int], workers: int) -> Iterator[Any]:
    """Yield the batches of a `PyDataset`, made by processes that take turns."""
    fork = multiprocessing.get_context("fork")
    count = min(max(workers, 1), len(order))

    def make(indices: list[int], end: Any) -> None:
        for index in indices:
            end.send(source[index])

    started = []
    try:
        for first in range(count):
            pipe, end = fork.Pipe(duplex=False)
            process = fork.Process(target=make, args=(order[first::count], end), daemon=True)
            process.start()
            end.close()  # Only the process holds it now, so that reading ends with the process.
            started.append((process, pipe))
        for number in range(len(order)):
            yield started[number % count][1].recv()
    finally:
        for process, _ in started:
            process.terminate()
            process.join()


def full_batches(dataset: tf.data.Dataset, batch_size: int) -> tf.data.Dataset:
    """Return the batches of a size without those that hold less, such as the last of an epoch."""

    def is_full(*batch: Any) -> tf.Tensor:
        return tf.equal(tf.shape(tf.nest.flatten(batch)[0])[0], batch_size)

    def sized(*batch: Any) -> Any:
        # From here on the size is known before a batch is there.
        found = tf.nest.map_structure(with_size, batch)
        return found if isinstance(dataset.element_spec, tuple) else found[0]

    def with_size(part: Any) -> Any:
        dense = isinstance(part, tf.Tensor) and part.shape.rank is not None
        return tf.ensure_shape(part, [batch_size, *part.shape[1:]]) if dense else part

    return dataset.filter(is_full).map(sized, num_parallel_calls=tf.data.AUTOTUNE)


def batches_in_order(
    x: Any, y: Any, sample_weight: Any, batch_size: int | None = None, steps: int | None = None
) -> Iterator[Any]:
    """Return batches of what `Model.evaluate` takes, the last one with what is left."""
    if isinstance(x, tf.data.Dataset) or hasattr(x, "__next__"):
        return islice(x, steps)
    if isinstance(x, keras.utils.PyDataset):
        return islice(map(x.__getitem__, range(len(x))), steps)
    arrays = keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
    arrays = keras.tree.lists_to_tuples(keras.tree.map_structure(as_tensor, arrays))
    rows, size = int(keras.tree.flatten(arrays)[0].shape[0]), batch_size or 32

    def batch_from(first: int) -> Any:
        return keras.tree.map_structure(
            lambda each: None if each is None else each[first : first + size], arrays
        )

    return islice(map(batch_from, range(0, rows, size)), steps)


def validation_of(data: Any, batch_size: int, *, batched: bool) -> Any:
    """Return what stands behind the training's data as `Model.fit` validates with it.

    Args:
        data: A dataset, arrays, or a `PyDataset`.
        batch_size: Of the batches that are made of a dataset.
        batched: Whether it has batches.

    Raises:
        SystemExit: The dataset never ends.
    """
    if not isinstance(data, tf.data.Dataset):
        return data
    if data.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise SystemExit(
            "The dataset for the validation never ends: take(...) the examples of one pass, or use "
            "--no-validation."
        )
    return data if batched else data.batch(batch_size)
