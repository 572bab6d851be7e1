"""Trains a Keras model by a loop of its own on several replicas, of one process or of many.

`Model.fit` of Keras 3 cannot train, evaluate or save with several workers. autotune writes this
file beside a program that imports it. It needs Keras and TensorFlow alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import keras_training
from keras_input import batches_in_order
from keras_training import Validation, compiled_of, compute_once, epochs_done, reset_metrics


def check_same_software(strategy: tf.distribute.Strategy, *files: Any) -> None:
    """End the program where the workers differ, before they hang or learn different things.

    Args:
        strategy: Of all workers.
        files: The program, and the functions or modules that it trains with.

    Raises:
        SystemExit: They differ.
    """
    found = [each.split(", ") for each in everyones(strategy, ", ".join(software(files)))]
    columns = [column for column in zip(*found, strict=True) if len(set(column)) > 1]
    if columns:
        rows = enumerate(zip(*columns, strict=True))
        each = "; ".join(f"replica {number} has {', '.join(row)}" for number, row in rows)
        raise SystemExit(f"The workers run different software: {each}.")


def software(files: Sequence[Any]) -> list[str]:
    """Return what has to be the same on all workers."""
    paths = {__file__, *filter(None, map(_file_of, files))}
    code = b"".join(sorted(Path(each).read_bytes() for each in paths))
    return [
        f"Python {platform.python_version()}",
        f"TensorFlow {tf.__version__}",
        f"Keras {keras.__version__}",
        f"program {hashlib.sha256(code).hexdigest()[:12]}",
    ]


def _file_of(part: Any) -> str | None:
    if isinstance(part, str | Path):
        return str(part)
    file = getattr(sys.modules.get(part.__module__), "__file__", None)
    return str(file) if file else None


def everyones(strategy: tf.distribute.Strategy, text: str) -> list[str]:
    """Return a text of each replica, of at most 200 bytes."""
    # As numbers, because workers exchange no texts.
    mine = tf.constant([[*text.encode().ljust(200)[:200]]])

    @tf.function
    def gathered() -> tf.Tensor:
        return strategy.gather(strategy.run(lambda: tf.identity(mine)), axis=0)

    return [bytes(row).decode().strip() for row in gathered().numpy().tolist()]


def warn_of_other_size(strategy: tf.distribute.Strategy, replicas: int, batch: int) -> None:
    """Say that fewer or more replicas train than a program was tuned for.

    Args:
        strategy: That trains.
        replicas: That it was tuned for.
        batch: Examples of a replica.
    """
    found = strategy.num_replicas_in_sync
    if found != replicas:
        why = "" if "TF_CONFIG" in os.environ else ", because TF_CONFIG is not set"
        print(
            f"Replicas in this training: {found}{why}. Tuned for: {replicas}. "
            f"Examples per step: {batch * found}, not {batch * replicas}.",
            file=sys.stderr,
        )


def fit(
    model: keras.Model,
    batches: Any,
    *,
    epochs: int,
    steps_per_epoch: int,
    callbacks: Iterable[keras.callbacks.Callback] = (),
    validation_data: Any = None,
    verbose: int = 1,
    initial_epoch: int = 0,
    steps_per_execution: int = 1,
    jit_compile: bool = False,
    logs_of_calls: bool = False,
    seed: int | None = None,
) -> None:
    """Train as `Model.fit` would; on several workers, worker 0 prints what all of them reached.

    Args:
        model: Made in the scope of its strategy.
        batches: A distributed dataset without end.
        epochs: The last one.
        steps_per_epoch: Steps of one.
        callbacks: They see the losses of this worker after a call, and those of all after an epoch.
        validation_data: As in `Model.fit`; each worker evaluates all of it after each epoch.
        verbose: As in `Model.fit`.
        initial_epoch: From which it goes on.
        steps_per_execution: Steps of a call.
        jit_compile: Whether XLA compiles the step.
        logs_of_calls: Whether callbacks get numbers after each call, for which the device is
            waited for, instead of tensors.
        seed: Of the random numbers of this worker while it trains. The input has to be made before,
            because all workers have to shuffle it alike.
    """
    strategy = model.distribute_strategy
    # Outright, because what Keras does by itself depends on strategy and device.
    model.jit_compile, model.steps_per_execution = jit_compile, 1
    keras_training.spread_random_streams(model)
    worker = worker_of(strategy)
    if seed is not None:
        tf.random.set_seed(seed + worker)
    verbose = verbose if worker == 0 else 0
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
    build(strategy, model, batches)
    steps = make_train_steps(strategy, model, jit_compile=jit_compile)
    if not logs_of_calls:
        # Past the list, which would turn the logs into numbers and wait for them.
        watchers.on_train_batch_end = lambda batch, logs: [
            each.on_train_batch_end(batch, logs) for each in watchers.callbacks
        ]
    train(strategy, model, iter(batches), watchers, steps, steps_per_execution, initial_epoch)
    if seed is not None:
        tf.random.set_seed(seed)


def worker_of(strategy: tf.distribute.Strategy) -> int:
    """Return the number of this worker; 0 where there is one."""
    resolver = strategy.cluster_resolver
    return int(resolver.task_id or 0) if resolver else 0


def build(strategy: tf.distribute.Strategy, model: keras.Model, batches: Any) -> None:
    """Create every variable before the first step.

    Variables that a tf.function creates put its first call under a condition, where TensorFlow
    cannot exchange gradients between several devices of one process.
    """
    if type(model).call is keras.Model.call:
        build_by_step(strategy, model, batches)
        return

    @tf.function(autograph=False)
    def create(batch: Any) -> None:
        compute_once(model, batch)

    strategy.run(create, args=(next(iter(batches)),))
    keras_training.build_optimizer(model)


def build_by_step(strategy: tf.distribute.Strategy, model: keras.Model, batches: Any) -> None:
    """Create every variable by a step that changes no weight.

    Only the train_step of such a model knows what to do with a batch.
    """
    used: list[tuple[keras.Optimizer, Any]] = []

    def noted(optimizer: keras.Optimizer) -> Callable[..., Any]:
        return lambda _, variables: used.append((optimizer, list(variables)))

    optimizers = keras_training.optimizers_of(model)
    for each in optimizers:
        each.apply = noted(each)
    strategy.run(model.train_step, args=(next(iter(batches)),))
    for each in optimizers:
        del each.apply
    with strategy.scope():
        for optimizer, variables in used:
            if not optimizer.built:
                optimizer.build(variables)
    model.built = True  # Keras knows it by a call alone, and saves no other.


def make_train_steps(
    strategy: tf.distribute.Strategy, model: keras.Model, *, jit_compile: bool
) -> Callable[..., Any]:
    """Return a function that runs so many training steps in one call."""

    # Without AutoGraph, as in Keras: a train_step of your own runs as it is written.
    @tf.autograph.experimental.do_not_convert
    def plain(batch: Any) -> dict[str, Any]:
        return strategy.run(model.train_step, args=(batch,))

    compiled = tf.function(plain, autograph=False, jit_compile=True)
    step = compiled if jit_compile else plain

    def local_mean(value: Any) -> tf.Tensor:
        return tf.reduce_mean(strategy.experimental_local_results(value), axis=0)

    @tf.function
    def train_steps(iterator: Any, steps: tf.Tensor) -> dict[str, tf.Tensor]:
        # The loop is part of the graph, because a call from Python can cost more than a step.
        for _ in tf.range(steps - 1):
            step(next(iterator))
        # Only of this worker: adding up all workers' metrics in every call would cost time.
        return tf.nest.map_structure(local_mean, step(next(iterator)))

    return train_steps


def train(
    strategy: tf.distribute.Strategy,
    model: keras.Model,
    iterator: Any,
    watchers: keras.callbacks.CallbackList,
    train_steps: Callable[..., Any],
    steps_per_execution: int,
    initial_epoch: int,
) -> None:
    """Train until the last epoch, or until a callback stops it."""
    several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    model.stop_training = False
    logs: dict[str, Any] = {}
    watchers.on_train_begin()
    for epoch in range(epochs_done(model) or initial_epoch, watchers.params["epochs"]):
        reset_metrics(model)
        watchers.on_epoch_begin(epoch)
        for first in range(0, watchers.params["steps"], steps_per_execution):
            # The last call has only what is left of the epoch.
            steps = min(steps_per_execution, watchers.params["steps"] - first)
            watchers.on_train_batch_begin(first)
            try:
                logs = train_steps(iterator, tf.constant(steps))
            except tf.errors.OutOfRangeError:
                # It can be read only once, and has ended: so does the training, as in Model.fit.
                model.stop_training = True
                break
            watchers.on_train_batch_end(first + steps - 1, logs)
            if model.stop_training and not several:
                break
        logs = logs_of_all(strategy, model, compiled_of(model), logs)
        watchers.on_epoch_end(epoch, logs)
        if several:
            # On the others too, which would wait for it.
            asked = tf.constant(float(model.stop_training))
            model.stop_training = bool(any_worker_stops(strategy, asked))
        if model.stop_training:
            break
    if model.optimizer is not None:
        model.optimizer.finalize_variable_values(model.trainable_variables)
    watchers.on_train_end(logs)


# These are compiled, because outside the graph every variable and every exchange between replicas
# costs milliseconds.


@tf.function(autograph=False)
def logs_of_all(
    strategy: tf.distribute.Strategy, model: keras.Model, compiled: Any, logs: dict[str, Any]
) -> dict[str, Any]:
    """Return the metrics over all replicas of a model as it was compiled."""
    metrics = model.get_metrics_result()
    if metrics.keys() == logs.keys():
        return metrics
    # A train_step of your own may return other values: their last ones, averaged.
    return {name: strategy.reduce("MEAN", value, axis=None) for name, value in logs.items()}


@tf.function(autograph=False)
def any_worker_stops(strategy: tf.distribute.Strategy, asked: tf.Tensor) -> tf.Tensor:
    """Return whether a callback of any worker wants to stop, because then all of them must."""
    return strategy.reduce("SUM", asked, axis=None) > 0


# With several workers Keras 3 can neither evaluate nor predict (keras-team/keras#20585). Here each
# worker does so with all data, and all get the figures that one device would get.


def evaluate(
    model: keras.Model,
    x: Any = None,
    y: Any = None,
    batch_size: int | None = None,
    verbose: Any = "auto",
    sample_weight: Any = None,
    steps: int | None = None,
    *_: Any,
    return_dict: bool = False,
    **__: Any,
) -> Any:
    """Return what `Model.evaluate` does."""
    reset_metrics(model)
    step, logs = steps_of(model, compiled_of(model))[0], {}
    for batch in batches_in_order(x, y, sample_weight, batch_size, steps):
        logs = step(batch)
    found = {name: np.asarray(value).tolist() for name, value in logs.items()}
    if return_dict or len(found) != 1:
        return found if return_dict else list(found.values())
    return next(iter(found.values()))


def predict(
    model: keras.Model,
    x: Any = None,
    batch_size: int | None = None,
    verbose: Any = "auto",
    steps: int | None = None,
    *_: Any,
    **__: Any,
) -> Any:
    """Return what `Model.predict` does."""
    step = steps_of(model, compiled_of(model))[1]
    found = [step(batch) for batch in batches_in_order(x, None, None, batch_size, steps)]
    return keras.tree.map_structure(lambda *each: np.concatenate(each), *found)


@cache
def steps_of(model: keras.Model, compiled: Any) -> list[Callable[[Any], Any]]:
    """Return functions that evaluate a batch and predict for one, in this worker alone.

    Args:
        model: As it was compiled.
        compiled: Is another object after each call of `compile`.
    """
    strategy = model.distribute_strategy

    def local(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @tf.function(autograph=False, reduce_retracing=True)
        def run(batch: Any) -> Any:
            found = strategy.run(step, args=(batch,))
            return tf.nest.map_structure(
                lambda each: strategy.experimental_local_results(each)[0], found
            )

        return run

    return [local(model.test_step), local(model.predict_step)]


class Checkpoints(keras_training.Checkpoints):
    """Saves the weights of model and optimizer after each epoch; all workers go on together.

    Each worker saves into a folder of its own, so that none needs another's disk. Of the two epochs
    that it keeps, one is there if it is killed before the others have saved.
    """

    @property
    def leads(self) -> bool:
        """Whether this worker is the first."""
        return worker_of(self.model.distribute_strategy) == 0

    @property
    def folder(self) -> Path:
        """Of this worker."""
        return self.root / f"worker-{worker_of(self.model.distribute_strategy)}"

    def last(self) -> int:
        """Return the last epoch that all workers have saved; 0 where there is none.

        Raises:
            SystemExit: There is none that all have.
        """
        found = everyones(self.model.distribute_strategy, json.dumps(sorted(self.saved())))
        each = [set(json.loads(text)) for text in found]
        common = set.intersection(*each)
        # Where all were saving for the first time, one may have been killed before the others.
        if not common and max(max(every, default=0) for every in each) > 1:
            words = "; ".join(f"replica {i} has {sorted(e) or 'none'}" for i, e in enumerate(each))
            raise SystemExit(
                f"The workers have no checkpoint in common in {self.root}: of epochs, {words}. "
                "Copy the folder of one worker to those of the others, or use --no-resume."
            )
        return max(common, default=0)


def save(model: keras.Model, args: argparse.Namespace) -> None:
    """Save the model on worker 0, if the command line asks for it.

    The others write theirs too, because they may have to help. The checkpoints of all are removed
    only then.

    Raises:
        SystemExit: It could not be written.
    """
    strategy = model.distribute_strategy
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras" if worker_of(strategy) else None
        keras_training.save(model, args, path, partial(everyones, strategy, "saved"))
