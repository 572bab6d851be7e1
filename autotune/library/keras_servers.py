"""Trains a Keras model with parameter servers: workers take steps without waiting for each other.

autotune writes this file beside a program that imports it. It needs Keras and TensorFlow alone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_input import batches_in_order
from keras_training import Validation, build_optimizer, compute_once, epochs_done, reset_metrics

AHEAD = 2
"""Calls of the training step that wait in each worker while it runs one."""
DatasetOf = Callable[[int, int], tf.data.Dataset]
"""Returns the batches of a worker, by its number and the number of all."""


def serve_unless_chief(intra_op_threads: int = 0) -> tf.distribute.cluster_resolver.ClusterResolver:
    """Return the cluster to the chief; in any other process serve it, until that is killed.

    Args:
        intra_op_threads: Of each process; 0 uses all cores.

    Raises:
        SystemExit: TF_CONFIG is not set.
    """
    # Otherwise nobody would notice that a process has died.
    os.environ["GRPC_FAIL_FAST"] = "use_caller"
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if not cluster.task_type:
        raise SystemExit("TF_CONFIG is not set; launch.py sets it and starts all processes.")
    if cluster.task_type != "chief":
        threads = {"intra_op_parallelism_threads": intra_op_threads} if intra_op_threads else {}
        server = tf.distribute.Server(
            cluster.cluster_spec(),
            job_name=cluster.task_type,
            task_index=cluster.task_id,
            protocol="grpc",
            config=tf.compat.v1.ConfigProto(**threads),
        )
        server.join()
    return cluster


def fit(
    model: keras.Model,
    dataset_of: DatasetOf,
    workers: int,
    *,
    epochs: int,
    steps_per_epoch: int,
    callbacks: Iterable[keras.callbacks.Callback] = (),
    validation_data: Any = None,
    verbose: int = 1,
    steps_per_execution: int = 1,
) -> None:
    """Train as `Model.fit` would, but let no worker wait for another.

    Args:
        model: Made in the scope of its strategy.
        dataset_of: Makes the batches of a worker.
        workers: As many as there are.
        epochs: The last one.
        steps_per_epoch: Steps of one, each of as many workers as there are, whichever take it.
        callbacks: They run in the chief.
        validation_data: As in `Model.fit`; the chief evaluates it after each epoch.
        verbose: As in `Model.fit`.
        steps_per_execution: Steps of a call.
    """
    strategy = model.distribute_strategy
    # Outright, because what Keras does by itself depends on strategy and device.
    model.jit_compile, model.steps_per_execution = False, 1
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    validating = [Validation(validation_data, evaluate)] if validation_data is not None else []
    watchers = keras.callbacks.CallbackList(
        [*validating, *callbacks],
        add_history=True,
        add_progbar=verbose > 0,
        model=model,
        epochs=epochs,
        steps=steps_per_epoch,
        verbose=verbose,
    )
    build(strategy, model, dataset_of(0, workers))
    iterator = iter(
        coordinator.create_per_worker_dataset(partial(of_this_worker, dataset_of, workers))
    )
    train(coordinator, model, workers, watchers, iterator, steps_per_execution)


def of_this_worker(dataset_of: DatasetOf, workers: int) -> tf.data.Dataset:
    """Return the batches of the worker that asks."""
    # Known only inside of it, so the pipelines of all workers are written into the graph.
    me = tf.distribute.coordinator.experimental_get_current_worker_index()
    each = [partial(dataset_of, worker, workers) for worker in range(workers)]
    return tf.switch_case(tf.cast(me, tf.int32), each)


def build(strategy: tf.distribute.Strategy, model: keras.Model, batches: tf.data.Dataset) -> None:
    """Create every variable before the first step, because workers cannot."""
    if type(model).call is keras.Model.call:
        model.built = True  # Only its train_step knows what to do with a batch.
        return
    batch = next(iter(batches))
    with strategy.scope():
        compute_once(model, batch)
    build_optimizer(model)


def make_train_steps(strategy: tf.distribute.Strategy, model: keras.Model) -> Callable[..., Any]:
    """Return a function that runs so many steps of one worker in one call."""

    # Without AutoGraph, as in Keras: a train_step of your own runs as it is written.
    @tf.autograph.experimental.do_not_convert
    def step(batch: Any) -> dict[str, Any]:
        return strategy.run(model.train_step, args=(batch,))

    @tf.function
    def train_steps(iterator: Any, steps: tf.Tensor) -> dict[str, Any]:
        # The loop is part of the graph, because an order from the chief can cost more than a step.
        for _ in tf.range(steps - 1):
            step(next(iterator))
        return step(next(iterator))

    return train_steps


def under_way(
    coordinator: tf.distribute.coordinator.ClusterCoordinator,
    train_steps: Callable[..., Any],
    iterator: Any,
    workers: int,
    sizes: Sequence[int],
) -> Iterator[list[Any]]:
    """Yield what each call gave, by worker, while the workers are busy with the next ones."""
    waiting: deque[list[Any]] = deque()
    for number in range(len(sizes) + AHEAD):
        if number < len(sizes):
            order = (iterator, tf.constant(sizes[number]))
            waiting.append([coordinator.schedule(train_steps, args=order) for _ in range(workers)])
        if number >= AHEAD:
            yield [each.fetch() for each in waiting.popleft()]


def train(
    coordinator: tf.distribute.coordinator.ClusterCoordinator,
    model: keras.Model,
    workers: int,
    watchers: keras.callbacks.CallbackList,
    iterator: Any,
    steps_per_execution: int,
) -> None:
    """Train until the last epoch, or until a callback stops it."""
    train_steps = make_train_steps(coordinator.strategy, model)
    steps = watchers.params["steps"]
    # Of each call; the last one has only what is left of the epoch.
    sizes = [
        min(steps_per_execution, steps - each) for each in range(0, steps, steps_per_execution)
    ]
    model.stop_training = False
    logs: dict[str, Any] = {}
    watchers.on_train_begin()
    for epoch in range(epochs_done(model), watchers.params["epochs"]):
        reset_metrics(model)
        watchers.on_epoch_begin(epoch)
        for number, results in enumerate(
            under_way(coordinator, train_steps, iterator, workers, sizes)
        ):
            first = number * steps_per_execution
            watchers.on_train_batch_begin(first)
            logs = results[-1]
            watchers.on_train_batch_end(first + sizes[number] - 1, logs)
            if model.stop_training:
                break
        coordinator.join()
        logs = logs_of_all(model, logs)
        watchers.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    if model.optimizer is not None:
        model.optimizer.finalize_variable_values(model.trainable_variables)
    watchers.on_train_end(logs)


def logs_of_all(model: keras.Model, logs: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics over all workers; of a train_step of your own its last values."""
    metrics: dict[str, Any] = model.get_metrics_result()
    return metrics if metrics.keys() == logs.keys() else logs


def evaluate(model: keras.Model, x: Any, y: Any, *, sample_weight: Any, **_: Any) -> dict[str, Any]:
    """Return the model's figures on some data, found in the chief."""
    reset_metrics(model)
    found: dict[str, Any] = {}
    for batch in batches_in_order(x, y, sample_weight):
        found = model.test_step(batch)
    return {name: np.asarray(value).tolist() for name, value in found.items()}
